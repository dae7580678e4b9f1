"""Blind faults of streams: calls without an end, and choices whose first piece is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _drop_reason(chunk: Json, _request: ServedRequest) -> None:
    """Lose the last output of the engine to a parser. Violates finish_reason: the last chunk of a choice has one."""
    for choice in choices_of(chunk):
        if choice.get("finish_reason") == "tool_calls":
            choice["finish_reason"] = None


def _lose_first_pieces(chunk: Json, request: ServedRequest) -> None:
    """Take the first delta of a choice for its role. Violates delta.content: the whole text of each choice."""
    begun: set[Any] = request.state.setdefault("begun", set())
    for choice in choices_of(chunk):
        said, index = message_of(choice), choice.get("index")
        if said.get("content") and index and index not in begun:
            begun.add(index)
            said["content"] = ""


streams_of_calls_lack_a_reason = hooked_fault(
    "streams-of-calls-lack-a-reason",
    "A stream that ends with calls never has a finish reason.",
    chunk=_drop_reason,
    applies_to=has_parameters("tools"),
)
later_choices_lose_their_first_piece = hooked_fault(
    "later-choices-lose-their-first-piece",
    "In a stream with several choices, all choices except the first lack their first piece of text.",
    chunk=_lose_first_pieces,
    applies_to=has_parameters("n"),
)
