"""Hold, merge and split the frames of a stream, for variations of how chunks are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream import sse
from reference_server.faults.decorators import choices_of, message_of
from reference_server.faults.fault_middleware import parse_object
from reference_server.faults.hooks import DATA, DONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_server.faults.hooks import Json, ServedRequest

    FrameHook = Callable[[bytes, ServedRequest], Iterator[bytes]]

OF_TOKENS: Final = ("logprobs", "return_token_ids", "return_token_offsets", "stream_interval")
"""Parameters with which a chunk has fields for each of its tokens."""


def read_chunk(frame: bytes) -> Json:
    """Return the chunk in a frame; an empty object for another frame."""
    return {} if frame == DONE else parse_object(frame.removeprefix(DATA))


def write_chunk(chunk: Json) -> bytes:
    """Return a frame with a chunk."""
    return sse.encode(orjson.dumps(chunk))


def only_choice(chunk: Json) -> Json | None:
    """Return the choice of a chunk with one choice."""
    choices = list(choices_of(chunk))
    return choices[0] if len(choices) == 1 else None


def calls_in(chunk: Json) -> list[Json]:
    """Return the pieces of calls in a chunk with one choice."""
    choice = only_choice(chunk)
    calls: Any = message_of(choice).get("tool_calls") if choice is not None else None
    return calls if isinstance(calls, list) else []


def has_fields_of_tokens(sent: Json) -> bool:
    """Whether chunks have fields for each token, or counts so far, so that they may not be merged or split."""
    options = sent.get("stream_options")
    counts = isinstance(options, dict) and options.get("continuous_usage_stats")
    return bool(counts) or any(sent.get(name) for name in OF_TOKENS)


def merging_text(pieces: int) -> FrameHook:
    """Return a hook that sends this number of pieces of the text of a choice as one, unless chunks count tokens."""

    def merge(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
        chunk = read_chunk(frame)
        choice = only_choice(chunk)
        waiting: dict[Any, tuple[Json, int]] = request.state.setdefault("waiting", {})
        if choice is None or not _is_text_only(chunk, choice) or has_fields_of_tokens(request.payload):
            yield from (write_chunk(earlier) for earlier, _ in waiting.values())
            waiting.clear()
            yield frame
            return
        earlier, count = waiting.pop(choice.get("index"), (None, 0))
        if earlier is not None:
            first = next(choices_of(earlier))
            said = {**message_of(first), "content": message_of(first)["content"] + message_of(choice)["content"]}
            chunk = {**earlier, **chunk, "choices": [{**first, **choice, "delta": said}]}
        if count + 1 < pieces:
            waiting[choice.get("index")] = (chunk, count + 1)
        else:
            yield write_chunk(chunk)

    return merge


def _is_text_only(chunk: Json, choice: Json) -> bool:
    """Whether a chunk has text of a choice that goes on, and nothing else that matters."""
    said = message_of(choice)
    has_text = isinstance(said.get("content"), str) and bool(said["content"])
    others = [name for name, value in said.items() if value and name not in ("role", "content")]
    ends = choice.get("finish_reason") or choice.get("logprobs") or "full_text" in chunk
    return has_text and not others and not ends


def holding_back(is_held: Callable[[Json], bool], is_lost: Callable[[Json], bool]) -> FrameHook:
    """Return a hook that loses a frame of a choice if its next one is of a kind.

    is_held: whether the frame of a choice may be lost. is_lost: whether this choice of a frame takes it away.
    """

    def hold(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
        choice = only_choice(read_chunk(frame))
        kept: dict[Any, bytes] = request.state.setdefault("kept", {})
        if choice is None:
            yield from kept.values()
            kept.clear()
            yield frame
            return
        earlier = kept.pop(choice.get("index"), None)
        if earlier is not None and not is_lost(choice):
            yield earlier
        if is_held(choice):
            kept[choice.get("index")] = frame
        else:
            yield frame

    return hold


def replacing_call_ids(rename: Callable[[str], str]) -> Callable[[Json, ServedRequest], None]:
    """Return an edit of answers and chunks that replaces the ids of calls."""

    def edit(response: Json, _request: ServedRequest) -> None:
        for choice in choices_of(response):
            for call in message_of(choice).get("tool_calls") or ():
                if call.get("id"):
                    call["id"] = rename(call["id"])

    return edit
