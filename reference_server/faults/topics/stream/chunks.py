"""Faults in the fields of stream chunks."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import orjson

from openapi.stream import sse
from reference_server.faults.decorators import (
    choice_fault,
    envelope_fault,
    fault,
    has_parameters,
    hooked_fault,
    requires_check,
)
from reference_server.faults.hooks import DATA, DONE, FRAME_END
from reference_server.faults.topics.answer.fields import set_field
from reference_server.faults.topics.choices import ONE, several

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest


index_from_one = choice_fault(
    "index-from-one",
    lambda choice, _request: choice.update(index=choice["index"] + 1),
    "Indices of choices start at 1.",
    bugs=[47],
)
index_missing = choice_fault(
    "index-missing", lambda choice, _request: choice.pop("index"), "Choices of a chunk have no index.", plain=False
)
index_text = choice_fault(
    "index-text",
    lambda choice, _request: choice.update(index=str(choice["index"])),
    "The index of a choice is a string.",
)


@fault("empty-choices-first", "event", applies_to=requires_check("stream.one-choice-per-chunk"))
def empty_choices_first(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """A stream begins with a chunk without a choice."""
    if request.event_index == 0:
        at = frame.index(b'"choices":[')
        yield frame[:at] + b'"choices":[]}' + FRAME_END
    yield frame


@fault("finish-on-first-index", "chunk", applies_to=has_parameters(*ONE), bugs=[45])
def finish_on_first_index(chunk: Json, request: ServedRequest) -> None:
    """The finish_reason of every streamed choice has the index of the first."""
    for choice in chunk["choices"]:
        if choice["finish_reason"] is not None and several(request):
            choice["index"] = 0


@fault("second-choice-lost", "event", applies_to=has_parameters(*ONE), bugs=[49])
def second_choice_lost(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Streams contain only the first choice."""
    if b'"index":0' in frame or b'"choices":[]' in frame or frame == DONE:
        yield frame


message_beside_delta = choice_fault(
    "message-beside-delta",
    lambda choice, _request: choice.update(message={"role": "assistant", "content": ""}),
    "Chunks contain a message in addition to the delta.",
    plain=False,
    bugs=[35],
)
delta_null = choice_fault(
    "delta-null",
    lambda choice, _request: choice.update(delta=None) if choice["finish_reason"] is not None else None,
    "The last delta is null.",
    plain=False,
)


@fault("id-per-chunk", "chunk", bugs=[24], applies_to=requires_check("stream.id-constant"))
def id_per_chunk(chunk: Json, _request: ServedRequest) -> None:
    """Every chunk has a different id."""
    chunk["id"] = secrets.token_hex(8)


@fault("created-per-chunk", "chunk", bugs=[29])
def created_per_chunk(chunk: Json, request: ServedRequest) -> None:
    """`created` changes within a stream."""
    chunk["created"] += request.event_index


@fault("model-flips", "chunk", bugs=[30])
def model_flips(chunk: Json, request: ServedRequest) -> None:
    """Chunks after the first have another model name."""
    if request.event_index > 0:
        chunk["model"] = f"models/{chunk['model']}"


@fault("full-text-short", "chunk", applies_to=requires_check("stream.full-text-is-whole"))
def full_text_short(chunk: Json, request: ServedRequest) -> None:
    """`full_text` lacks the last character of the answer."""
    for choice in chunk["choices"]:
        request.state["text"] = request.state.get("text", "") + (choice["delta"].get("content") or "")
        if choice["finish_reason"] is not None:
            chunk["full_text"] = request.state["text"][:-1]


@fault("duplicate-keys-streamed", "event")
def duplicate_keys_streamed(frame: bytes, _request: ServedRequest) -> list[bytes]:
    """Chunks contain `created` twice."""
    return [frame.replace(b'"created":', b'"created":0,"created":', 1)]


ids_repeat = envelope_fault(
    "ids-repeat",
    set_field("id", "chatcmpl-1"),
    "All answers have the same id.",
    applies_to=requires_check("http.answers-differ-in-id"),
)
object_of_plain_answers = envelope_fault(
    "object-not-chunk",
    set_field("object", "chat.completion"),
    "`object` of chunks has the value of plain answers.",
    plain=False,
    bugs=[26],
)


@fault("all-indices-zero", "chunk", applies_to=has_parameters("n"), bugs=[45])
def all_indices_are_zero(chunk: Json, _request: ServedRequest) -> None:
    """Every choice is streamed with the index 0."""
    for choice in chunk["choices"]:
        choice["index"] = 0


def _drop_options(request: ServedRequest) -> None:
    request.payload.pop("stream_options", None)


include_usage_ignored = hooked_fault(
    "include-usage-ignored",
    "include_usage is ignored.",
    request=_drop_options,
    bugs=[66],
    applies_to=requires_check("stream.usage-on-request"),
)


@fault("usage-in-every-chunk", "chunk", bugs=[67])
def usage_in_every_chunk(chunk: Json, _request: ServedRequest) -> None:
    """Every chunk of a stream has usage."""
    if not isinstance(chunk.get("usage"), dict):
        chunk["usage"] = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}


@fault("usage-unasked", "event", bugs=[68], applies_to=requires_check("stream.usage-only-on-request"))
def usage_unasked(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """A usage chunk is sent although it was not requested."""
    if frame.startswith(b"data: {"):
        request.state["last"] = frame
    elif not request.payload.get("stream_options"):
        chunk = orjson.loads(request.state["last"].removeprefix(DATA))
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        yield sse.encode(orjson.dumps({**chunk, "choices": [], "usage": usage}))
    yield frame


@fault("usage-absent-elsewhere", "chunk", bugs=[70], applies_to=requires_check("stream.usage-null-elsewhere"))
def usage_absent_elsewhere(chunk: Json, _request: ServedRequest) -> None:
    """With include_usage the other chunks lack `usage: null`."""
    if chunk.get("usage") is None:
        chunk.pop("usage", None)


@fault("usage-after-finish", "event", applies_to=requires_check("stream.usage-with-finish"))
def usage_after_finish(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Usage is sent in a separate chunk after the finish_reason."""
    if b'"finish_reason":"' not in frame or b'"usage":{' not in frame:
        yield frame
        return
    chunk = orjson.loads(frame.removeprefix(DATA))
    usage = chunk.pop("usage")
    yield sse.encode(orjson.dumps(chunk))
    yield sse.encode(orjson.dumps({**chunk, "choices": [], "usage": usage}))


@fault("usage-before-choices-end", "event", applies_to=requires_check("stream.usage-on-request"))
def usage_before_choices_end(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """The usage chunk is sent before the chunk with the finish_reason."""
    if b'"finish_reason":"' in frame and request.payload.get("stream_options"):
        request.state["held"] = frame
        return
    yield frame
    if b'"usage":{' in frame and "held" in request.state:
        yield request.state.pop("held")


@fault("usage-with-last-choice", "event", applies_to=requires_check("stream.usage-on-request"))
def usage_with_last_choice(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Requested usage is in the last chunk with a choice instead of a separate chunk."""
    if b'"finish_reason":"' in frame and (request.payload.get("stream_options") or {}).get("include_usage"):
        request.state["held"] = frame
        return
    if "held" in request.state and frame.startswith(b"data: {"):
        usage = orjson.loads(frame.removeprefix(DATA))["usage"]
        chunk = orjson.loads(request.state.pop("held").removeprefix(DATA))
        yield sse.encode(orjson.dumps({**chunk, "usage": usage}))
        return
    yield frame


@fault("schema-of-chunks", "chunk", bugs=[28])
def created_is_a_text(chunk: Json, _request: ServedRequest) -> None:
    """`created` of chunks is a string."""
    chunk["created"] = str(chunk["created"])
