"""Blind faults of streams: how choices end, what the usage chunk has, and text that is held back or lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.delta_recipes import delta_fault
from reference_server.faults.blind.recipes import is_whole
from reference_server.faults.blind.stream_recipes import streamed_text_fault
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine import Delta, SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

MOST: Final = 2**31
SHORTEST: Final = 3  # characters of a stop string that is split


def _finish_last_choice_only(chunk: Json, request: ServedRequest) -> None:
    """Finish one choice. Violates choices.finish_reason: why the choice ended."""
    number = request.payload.get("n")
    if isinstance(number, int) and is_whole(number, 2, MOST):
        for choice in choices_of(chunk):
            if choice.get("index") != number - 1:
                choice["finish_reason"] = None


def _finish_twice(frame: bytes, _request: ServedRequest) -> tuple[bytes, ...]:
    """Repeat the last chunk. Violates the form of a stream, in which one chunk ends a choice."""
    ends = b'"finish_reason":"' in frame
    return (frame, frame) if ends else (frame,)


def _drop_choices(chunk: Json, _request: ServedRequest) -> None:
    """Leave out the empty list. Violates choices, which a chunk with usage has too."""
    if chunk.get("choices") == []:
        del chunk["choices"]


def _leak_stops(params: SamplingParams) -> Callable[[Delta], Delta]:
    """Send what was sent before the string was complete. Violates stop: the text does not contain the string."""

    def leak(delta: Delta) -> Delta:
        stop = delta.stop_reason
        if params.include_stop_str_in_output or not isinstance(stop, str) or len(stop) < SHORTEST:
            return delta
        return replace(delta, text=delta.text + stop[: len(stop) // 2])

    return leak


def _suppress_white_space(piece: str, _state: Json, _request: ServedRequest) -> str:
    """Drop pieces of white space. Violates delta.content: the text of the answer."""
    return piece.strip("\n") if piece.isspace() else piece


only_the_last_choice_finishes = hooked_fault(
    "only-the-last-choice-finishes",
    "In a stream with several choices, only the last one has a finish reason.",
    chunk=_finish_last_choice_only,
    applies_to=allows(n=2, temperature=1.0, stream=True),
)
finish_chunks_sent_twice = hooked_fault(
    "finish-chunks-sent-twice", "The chunk with the finish reason is sent twice.", event=_finish_twice
)
usage_chunks_lack_choices = hooked_fault(
    "usage-chunks-lack-choices",
    "The chunk with the usage has no list of choices.",
    chunk=_drop_choices,
    applies_to=has_parameters("stream_options"),
)
stop_strings_leak_their_beginning = delta_fault(
    "stop-strings-leak-their-beginning",
    "The first half of a stop string with three and more characters remains in the text.",
    _leak_stops,
    has_parameters("stop"),
)
line_ends_lost_in_streams = streamed_text_fault(
    "line-ends-lost-in-streams",
    "Pieces of a stream that consist of line ends are empty.",
    _suppress_white_space,
)
