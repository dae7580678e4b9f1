"""Blind faults of streams: usage that comes too early, and separators that are taken for ends of lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.frame_recipes import read_chunk
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault
from reference_server.faults.hooks import DONE, FRAME_END

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import ServedRequest

SEPARATORS: Final = re.compile("[\u0085\u2028\u2029]")


def _send_usage_first(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Send usage when it is known. Violates include_usage: the chunk with it is the last one before [DONE]."""
    options: Any = request.payload.get("stream_options")
    held: list[bytes] = request.state.setdefault("held", [])
    chunk = read_chunk(frame)
    if not isinstance(options, dict) or options.get("include_usage") is not True:
        yield frame
    elif any(choice.get("finish_reason") for choice in choices_of(chunk)):
        held.append(frame)
    elif frame == DONE or not any(choices_of(chunk)):
        yield from [*held, frame] if frame == DONE else [frame, *held]
        held.clear()
    else:
        yield frame


def _split_lines(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Split the text of an upstream into lines. Violates the stream: only CR and LF end lines of events."""
    *lines, last = SEPARATORS.split(frame.decode())
    yield from (line.encode() + FRAME_END for line in lines)
    yield last.encode()


usage_chunks_precede_the_finish = hooked_fault(
    "usage-chunks-precede-the-finish",
    "The chunk with usage comes in front of the chunks with finish reasons.",
    event=_send_usage_first,
    applies_to=has_parameters("stream_options"),
)
separators_break_events = hooked_fault(
    "separators-break-events",
    "An event whose text has a separator of lines or paragraphs (U+2028, U+2029, U+0085) is cut into several.",
    event=_split_lines,
    applies_to=has_parameters("response_format"),
)
