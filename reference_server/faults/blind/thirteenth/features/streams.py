"""Blind faults of streams: choices that end together, one token, and usage that was declined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.frame_recipes import only_choice, read_chunk
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest

LIMITS: Final = ("max_tokens", "max_completion_tokens")


def _end_with_first(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Stop reading at the first reason. Violates the stream: each choice goes on until its own end."""
    choice = only_choice(read_chunk(frame))
    if choice is None or not request.state.get("over"):
        yield frame
    if choice is not None and choice.get("finish_reason"):
        request.state["over"] = True


def _empty_only_token(chunk: Json, request: ServedRequest) -> None:
    """Take the first token for the opening chunk. Violates delta.content: the token that was generated."""
    for choice in choices_of(chunk) if any(request.payload.get(name) == 1 for name in LIMITS) else ():
        said = message_of(choice)
        if said.get("content"):
            said["content"] = ""


def _bring_usage(request: ServedRequest) -> None:
    """Ask whether the option is there. Violates include_usage: false."""
    options: Any = request.payload.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage") is False:
        options["include_usage"] = True


first_end_ends_all_choices = hooked_fault(
    "first-end-ends-all-choices",
    "In a stream with several choices, no choice goes on after the first one has ended.",
    event=_end_with_first,
    applies_to=has_parameters("n"),
)
streams_of_one_token_are_empty = hooked_fault(
    "streams-of-one-token-are-empty", "A stream whose token limit is 1 has no text.", chunk=_empty_only_token
)
false_include_usage_brings_usage = hooked_fault(
    "false-include-usage-brings-usage",
    "A stream whose include_usage is false has a chunk with usage.",
    request=_bring_usage,
    applies_to=has_parameters("stream_options"),
)
