"""Blind faults of streams: indices and reasons of last chunks, usage that is not requested, and late stops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

HELD: Final = 2  # pieces of a choice


def _end_at_zero(chunk: Json, _request: ServedRequest) -> None:
    """Finish the first choice. Violates choices.index: the choice that the chunk belongs to."""
    for choice in choices_of(chunk):
        if choice.get("finish_reason"):
            choice["index"] = 0


def _send_empty_reasons(chunk: Json, _request: ServedRequest) -> None:
    """Send an empty string. Violates choices.finish_reason: null until the choice ends."""
    for choice in choices_of(chunk):
        if choice.get("finish_reason") is None:
            choice["finish_reason"] = ""


def _add_usage(request: ServedRequest) -> None:
    """Take any object for a wish. Violates include_usage, which is false by default."""
    options = request.payload.get("stream_options")
    if request.payload.get("stream") is True and isinstance(options, dict):
        options.setdefault("include_usage", True)


def _stop_late(request: ServedRequest) -> None:
    """Check the text after it is sent. Violates stop: the text does not contain the string."""
    if request.payload.get("stream") is True and request.payload.get("stop"):
        request.payload["include_stop_str_in_output"] = True


def _join_across_choices(chunk: Json, request: ServedRequest) -> None:
    """Keep one buffer for all choices. Violates choices.index: the choice that the text belongs to."""
    for choice in choices_of(chunk):
        said = message_of(choice)
        if isinstance(said.get("content"), str) and said["content"] and not said["content"].isascii():
            request.state["held"] = request.state.get("held", "") + said["content"]
            said["content"] = ""
        elif said.get("content"):
            said["content"] = request.state.pop("held", "") + said["content"]


finish_chunks_have_index_zero = hooked_fault(
    "finish-chunks-have-index-zero",
    "In a stream with several choices, the last chunk of each has the index 0.",
    chunk=_end_at_zero,
    applies_to=allows(n=2, temperature=1.0, stream=True),
)
finish_reasons_empty_before_the_end = hooked_fault(
    "finish-reasons-empty-before-the-end",
    "The finish reason of a chunk is an empty string until its choice ends.",
    chunk=_send_empty_reasons,
)
empty_stream_options_bring_usage = hooked_fault(
    "empty-stream-options-bring-usage",
    "A stream has a chunk with usage if stream_options lacks include_usage.",
    request=_add_usage,
    applies_to=has_parameters("stream_options"),
)
streams_stop_after_the_stop = hooked_fault(
    "streams-stop-after-the-stop",
    "The text of a stream ends with the stop string.",
    request=_stop_late,
    applies_to=has_parameters("stop", "include_stop_str_in_output"),
)
held_characters_lost_at_the_end = hooked_fault(
    "held-characters-lost-at-the-end",
    "A piece with characters outside ASCII is sent with the next piece, and is lost if it is the last one.",
    chunk=_join_across_choices,
)
