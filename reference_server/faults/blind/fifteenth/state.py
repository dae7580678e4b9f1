"""Blind faults of state between requests: parsers that are still inside a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import per_server
from reference_server.faults.decorators import choices_of, has_parameters, message_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _stay_inside() -> Hooks:
    """Keep one parser. Violates delta: what was generated for this request."""
    unfinished: list[bool] = []

    def note(request: ServedRequest) -> None:
        if unfinished and request.payload.get("stream") is True and request.payload.get("tools"):
            unfinished.clear()
            request.state["swallows"] = True

    def swallow(chunk: Json, request: ServedRequest) -> None:
        for choice in choices_of(chunk):
            said = message_of(choice)
            if said.get("tool_calls"):
                request.state["called"] = True
            if request.state.get("called") and choice.get("finish_reason") == "length":
                unfinished.append(True)
            if request.state.get("swallows") and (said.get("content") or said.get("tool_calls")):
                request.state["swallows"] = False
                said["content"] = ""
                said.pop("tool_calls", None)

    return Hooks(request=note, chunk=swallow)


cut_calls_swallow_the_next_stream = per_server(
    "cut-calls-swallow-the-next-stream",
    "After a stream whose tool call the token limit cuts, the first piece of the next stream with tools is lost.",
    _stay_inside,
    applies_to=has_parameters("tools"),
)
