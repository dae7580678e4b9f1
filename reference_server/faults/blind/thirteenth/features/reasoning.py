"""Blind faults of reasoning: thoughts that are cut, and thoughts next to tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import when
from reference_server.faults.blind.thought_recipes import thinks, thoughts_of, turn_thinking_off
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _say_stop(response: Json, request: ServedRequest) -> None:
    """Look for an end of the answer. Violates finish_reason: the token limit was reached."""
    thinking: set[Any] = request.state.setdefault("thinking", set())
    for choice in choices_of(response):
        said, index = message_of(choice), choice.get("index")
        if thoughts_of(said):
            thinking.add(index)
        if said.get("content") or said.get("tool_calls"):
            thinking.discard(index)
        if choice.get("finish_reason") == "length" and index in thinking:
            choice["finish_reason"] = "stop"


def _thinks_with_tools(sent: Json) -> bool:
    return bool(sent.get("tools")) and thinks(sent)


cut_thoughts_end_with_stop = hooked_fault(
    "cut-thoughts-end-with-stop",
    "An answer that the token limit cuts within its reasoning has the finish reason stop.",
    answer=_say_stop,
    chunk=_say_stop,
    applies_to=has_parameters("chat_template_kwargs"),
)
# Violates enable_thinking: the model thinks if it is true.
thinking_lost_next_to_tools = when(
    "thinking-lost-next-to-tools",
    "Reasoning is turned off if the request has tools.",
    _thinks_with_tools,
    turn_thinking_off,
    applies_to=has_parameters("chat_template_kwargs", "tools"),
)
