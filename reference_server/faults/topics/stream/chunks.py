"""Faults in the fields of stream chunks."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import orjson

from openapi.stream import sse
from reference_server.faults.decorators import at_seams, demands, fault, held_by, knows, said_by
from reference_server.faults.hooks import DATA, DONE, FRAME_END
from reference_server.faults.topics.answer.fields import set_field
from reference_server.faults.topics.choices import ONE, several

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, Told


index_from_one = said_by(
    "index-from-one",
    lambda choice, _told: choice.update(index=choice["index"] + 1),
    "Indices of choices start at 1.",
    bugs=[47],
)
index_missing = said_by(
    "index-missing", lambda choice, _told: choice.pop("index"), "Choices of a chunk have no index.", plain=False
)
index_text = said_by(
    "index-text", lambda choice, _told: choice.update(index=str(choice["index"])), "The index of a choice is a text."
)


@fault("empty-choices-first", "event", fits=demands("stream.one-choice-per-chunk"))
def empty_choices_first(frame: bytes, told: Told) -> Iterator[bytes]:
    """A stream begins with a chunk without a choice."""
    if told.at == 0:
        at = frame.index(b'"choices":[')
        yield frame[:at] + b'"choices":[]}' + FRAME_END
    yield frame


@fault("finish-on-first-index", "chunk", fits=knows(*ONE), bugs=[45])
def finish_on_first_index(chunk: Json, told: Told) -> None:
    """Of several streamed choices always the first one is told to end."""
    for choice in chunk["choices"]:
        if choice["finish_reason"] is not None and several(told):
            choice["index"] = 0


@fault("second-choice-lost", "event", fits=knows(*ONE), bugs=[49])
def second_choice_lost(frame: bytes, _told: Told) -> Iterator[bytes]:
    """Streams hold the first choice only."""
    if b'"index":0' in frame or b'"choices":[]' in frame or frame == DONE:
        yield frame


message_beside_delta = said_by(
    "message-beside-delta",
    lambda choice, _told: choice.update(message={"role": "assistant", "content": ""}),
    "Chunks hold a message beside the delta.",
    plain=False,
    bugs=[35],
)
delta_null = said_by(
    "delta-null",
    lambda choice, _told: choice.update(delta=None) if choice["finish_reason"] is not None else None,
    "The last delta is null.",
    plain=False,
)


@fault("id-per-chunk", "chunk", bugs=[24], fits=demands("stream.id-constant"))
def id_per_chunk(chunk: Json, _told: Told) -> None:
    """Every chunk has an id of its own."""
    chunk["id"] = secrets.token_hex(8)


@fault("created-per-chunk", "chunk", bugs=[29])
def created_per_chunk(chunk: Json, told: Told) -> None:
    """`created` is read from the clock for every chunk, and moves on within a stream."""
    chunk["created"] += told.at


@fault("model-flips", "chunk", bugs=[30])
def model_flips(chunk: Json, told: Told) -> None:
    """Chunks after the first name the model by another name."""
    if told.at > 0:
        chunk["model"] = f"models/{chunk['model']}"


@fault("full-text-short", "chunk", fits=demands("stream.full-text-is-whole"))
def full_text_short(chunk: Json, told: Told) -> None:
    """`full_text` lacks the last character of the answer."""
    for choice in chunk["choices"]:
        told.memory["text"] = told.memory.get("text", "") + (choice["delta"].get("content") or "")
        if choice["finish_reason"] is not None:
            chunk["full_text"] = told.memory["text"][:-1]


@fault("duplicate-keys-streamed", "event")
def duplicate_keys_streamed(frame: bytes, _told: Told) -> list[bytes]:
    """Chunks hold `created` twice."""
    return [frame.replace(b'"created":', b'"created":0,"created":', 1)]


ids_repeat = held_by(
    "ids-repeat",
    set_field("id", "chatcmpl-1"),
    "All answers have the same id.",
    fits=demands("http.answers-differ-in-id"),
)
object_of_plain_answers = held_by(
    "object-not-chunk", set_field("object", "chat.completion"), "`object` of chunks is that of plain answers.",
    plain=False, bugs=[26],
)  # fmt: skip


@fault("all-indices-zero", "chunk", fits=knows("n"), bugs=[45])
def all_indices_are_zero(chunk: Json, _told: Told) -> None:
    """Every choice is streamed with the index 0."""
    for choice in chunk["choices"]:
        choice["index"] = 0


def _drop_options(told: Told) -> None:
    told.sent.pop("stream_options", None)


include_usage_ignored = at_seams(
    "include-usage-ignored", "include_usage is ignored.", request=_drop_options, bugs=[66],
    fits=demands("stream.usage-on-request"),
)  # fmt: skip


@fault("usage-in-every-chunk", "chunk", bugs=[67])
def usage_in_every_chunk(chunk: Json, _told: Told) -> None:
    """Usage comes with every chunk of a stream."""
    if not isinstance(chunk.get("usage"), dict):
        chunk["usage"] = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}


@fault("usage-unasked", "event", bugs=[68], fits=demands("stream.usage-only-on-request"))
def usage_unasked(frame: bytes, told: Told) -> Iterator[bytes]:
    """A chunk of usage comes whether it was asked for or not."""
    if frame.startswith(b"data: {"):
        told.memory["last"] = frame
    elif not told.sent.get("stream_options"):
        chunk = orjson.loads(told.memory["last"].removeprefix(DATA))
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        yield sse.encode(orjson.dumps({**chunk, "choices": [], "usage": usage}))
    yield frame


@fault("usage-absent-elsewhere", "chunk", bugs=[70], fits=demands("stream.usage-null-elsewhere"))
def usage_absent_elsewhere(chunk: Json, _told: Told) -> None:
    """With include_usage the other chunks lack `usage: null`."""
    if chunk.get("usage") is None:
        chunk.pop("usage", None)


@fault("usage-after-finish", "event", fits=demands("stream.usage-with-finish"))
def usage_after_finish(frame: bytes, _told: Told) -> Iterator[bytes]:
    """Usage comes in a chunk of its own after the finish_reason."""
    if b'"finish_reason":"' not in frame or b'"usage":{' not in frame:
        yield frame
        return
    chunk = orjson.loads(frame.removeprefix(DATA))
    usage = chunk.pop("usage")
    yield sse.encode(orjson.dumps(chunk))
    yield sse.encode(orjson.dumps({**chunk, "choices": [], "usage": usage}))


@fault("usage-before-choices-end", "event", fits=demands("stream.usage-on-request"))
def usage_before_choices_end(frame: bytes, told: Told) -> Iterator[bytes]:
    """The chunk of usage comes before the one with the finish_reason."""
    if b'"finish_reason":"' in frame and told.sent.get("stream_options"):
        told.memory["held"] = frame
        return
    yield frame
    if b'"usage":{' in frame and "held" in told.memory:
        yield told.memory.pop("held")


@fault("usage-with-last-choice", "event", fits=demands("stream.usage-on-request"))
def usage_with_last_choice(frame: bytes, told: Told) -> Iterator[bytes]:
    """The usage that was asked for stands in the last chunk with a choice, not in one of its own."""
    if b'"finish_reason":"' in frame and (told.sent.get("stream_options") or {}).get("include_usage"):
        told.memory["held"] = frame
        return
    if "held" in told.memory and frame.startswith(b"data: {"):
        usage = orjson.loads(frame.removeprefix(DATA))["usage"]
        chunk = orjson.loads(told.memory.pop("held").removeprefix(DATA))
        yield sse.encode(orjson.dumps({**chunk, "usage": usage}))
        return
    yield frame


@fault("schema-of-chunks", "chunk", bugs=[28])
def created_is_a_text(chunk: Json, _told: Told) -> None:
    """`created` of the chunks is a text."""
    chunk["created"] = str(chunk["created"])
