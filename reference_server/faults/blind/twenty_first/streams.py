"""Blind faults of streams that the token limit ends: their last piece, and calls that are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.frame_recipes import holding_back
from reference_server.faults.decorators import choice_fault, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _has_text(choice: Json) -> bool:
    return bool(message_of(choice).get("content")) and not choice.get("finish_reason")


def _is_cut(choice: Json) -> bool:
    return choice.get("finish_reason") == "length"


def _call_it_complete(choice: Json, request: ServedRequest) -> None:
    """Note that there was a call, and not how it ended. Violates finish_reason: length, if the limit was reached."""
    if message_of(choice).get("tool_calls"):
        request.state["called"] = True
    if request.state.get("called") and _is_cut(choice):
        choice["finish_reason"] = "tool_calls"


# Violates delta.content: the whole text of the answer.
cut_streams_lose_their_last_piece = hooked_fault(
    "cut-streams-lose-their-last-piece",
    "A stream that the token limit ends lacks its last piece of text.",
    event=holding_back(_has_text, _is_cut),
)
cut_calls_of_streams_look_complete = choice_fault(
    "cut-calls-of-streams-look-complete",
    _call_it_complete,
    "A stream whose call is cut by the token limit has the finish reason tool_calls.",
    plain=False,
    applies_to=has_parameters("tools"),
)
