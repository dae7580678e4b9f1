"""Blind faults of streams: line ends that JSON does not escape, and tokens between intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_whole
from reference_server.faults.blind.stream_recipes import streamed_text_fault
from reference_server.faults.decorators import has_parameters, hooked_fault
from reference_server.faults.hooks import FRAME_END

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest

LONGEST_INTERVAL: Final = 2**63 - 1


def _split_lines(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Split text as Python does. Violates the stream: lines end with a line feed, a carriage return, or both."""
    lines = frame.decode().removesuffix("\n\n").splitlines()
    yield from (line.encode() + FRAME_END for line in lines)


def _keep_last_word(piece: str, _state: Json, request: ServedRequest) -> str:
    """Send what is new when an interval ends. Violates delta.content: the text of all tokens of the interval."""
    if not is_whole(request.payload.get("stream_interval"), 2, LONGEST_INTERVAL):
        return piece
    return piece[piece.rstrip().rfind(" ") + 1 :]


unicode_line_ends_split_events = hooked_fault(
    "unicode-line-ends-split-events",
    "An event of a stream ends at U+0085, U+2028 and U+2029 in its text, as if they were line ends.",
    event=_split_lines,
)
words_between_intervals_lost = streamed_text_fault(
    "words-between-intervals-lost",
    "With a stream_interval above 1, only the last word of each chunk is sent.",
    _keep_last_word,
    applies_to=has_parameters("stream_interval"),
)
