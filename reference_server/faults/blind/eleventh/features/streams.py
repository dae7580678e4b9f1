"""Blind faults of streams: tags after calls, and text that comes again at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

TAG: Final = "\n</tool_call>"


def _leave_tags(chunk: Json, _request: ServedRequest) -> None:
    """Send what follows a call. Violates delta.content, which has no markup of calls."""
    for choice in choices_of(chunk):
        if choice.get("finish_reason") == "tool_calls":
            said = message_of(choice)
            said["content"] = (said.get("content") or "") + TAG


def _repeat_last_pieces(chunk: Json, request: ServedRequest) -> None:
    """Flush a buffer that was sent. Violates delta.content: the deltas are the answer."""
    pieces: dict[Any, str] = request.state.setdefault("pieces", {})
    for choice in choices_of(chunk):
        said = message_of(choice)
        if choice.get("finish_reason") == "length" and not said.get("content"):
            said["content"] = pieces.get(choice.get("index"), "")
        pieces[choice.get("index")] = said.get("content") or pieces.get(choice.get("index"), "")


tags_follow_calls_in_streams = hooked_fault(
    "tags-follow-calls-in-streams",
    "In streams, the tag that closes a tool call is text of the last chunk.",
    chunk=_leave_tags,
    applies_to=has_parameters("tools"),
)
last_pieces_repeated_at_the_limit = hooked_fault(
    "last-pieces-repeated-at-the-limit",
    "The last chunk of a stream that the token limit ends has the last piece of text again.",
    chunk=_repeat_last_pieces,
)
