"""Blind faults of streams: ends that are missing, first words that are lost, and times that change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.frame_recipes import calls_in, read_chunk
from reference_server.faults.blind.stream_recipes import streamed_text_fault
from reference_server.faults.decorators import has_parameters, hooked_fault
from reference_server.faults.hooks import DONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest

LATER_FROM: Final = 4  # events


def _end_without_done(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Return from the parser. Violates stream: it is terminated by `[DONE]`."""
    request.state["called"] = request.state.get("called", False) or bool(calls_in(read_chunk(frame)))
    if frame != DONE or not request.state["called"]:
        yield frame


def _lose_first(piece: str, state: Json, _request: ServedRequest) -> str:
    """Send the role in place of the text. Violates delta.content: the deltas are the whole answer."""
    if state.setdefault("begun", False):
        return piece
    state["begun"] = True
    return ""


def _read_clock_again(chunk: Json, request: ServedRequest) -> None:
    """Read the clock for each chunk. Violates created: each chunk has the same time."""
    if isinstance(chunk.get("created"), int):
        chunk["created"] += request.event_index // LATER_FROM


done_missing_after_calls = hooked_fault(
    "done-missing-after-calls",
    "A stream with tool calls ends without `[DONE]`.",
    event=_end_without_done,
    applies_to=has_parameters("tools"),
)
first_words_lost_in_streams = streamed_text_fault(
    "first-words-lost-in-streams", "The first piece of text in a stream is empty.", _lose_first
)
times_move_on_in_streams = hooked_fault(
    "times-move-on-in-streams",
    "After every four chunks of a stream, `created` is a second later.",
    chunk=_read_clock_again,
)
