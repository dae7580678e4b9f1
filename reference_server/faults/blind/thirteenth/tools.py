"""Blind faults of tools: choices after results, names that begin alike, and calls of earlier turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import messages_of, refusing, when
from reference_server.faults.blind.tool_recipes import calls_of, functions_of
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _demands_call_after_result(sent: Json) -> bool:
    messages, choice = messages_of(sent), sent.get("tool_choice")
    return bool(messages) and messages[-1].get("role") == "tool" and (choice == "required" or isinstance(choice, dict))


def _leave_choice(request: ServedRequest) -> None:
    request.payload["tool_choice"] = "auto"


def _cut_names(response: Json, request: ServedRequest) -> None:
    """Find a tool by the beginning of its name. Violates function.name: the function that is called."""
    names = [str(function.get("name")) for function in functions_of(request.payload)]
    for function in calls_of(response):
        called = function.get("name")
        begun = [name for name in names if called and called != name and called.startswith(name)]
        if begun:
            function["name"] = max(begun, key=len)


def _past_calls(sent: Json) -> list[Json]:
    """Return the calls in earlier messages."""
    calls: list[Any] = []
    for message in messages_of(sent):
        told = message.get("tool_calls")
        calls += told if isinstance(told, list) else []
    return [call for call in calls if isinstance(call, dict)]


def _has_indexes(sent: Json) -> bool:
    return any("index" in call for call in _past_calls(sent))


def _name_of(call: Json) -> Any:
    function = call.get("function")
    return function.get("name") if isinstance(function, dict) else None


def _calls_withdrawn_tool(sent: Json) -> bool:
    """Whether an earlier call is one of a tool that this request does not offer, next to others."""
    offered = [function.get("name") for function in functions_of(sent)]
    called = [_name_of(call) for call in _past_calls(sent)]
    return bool(offered) and any(name is not None and name not in offered for name in called)


# Violates tool_choice: a tool must be called.
required_choices_lost_after_results = when(
    "required-choices-lost-after-results",
    "A tool_choice that demands a call has no effect if the last message is the result of a tool.",
    _demands_call_after_result,
    _leave_choice,
    applies_to=allows(tools=[NO_TOOL], tool_choice="required"),
)
names_that_continue_another_cut = hooked_fault(
    "names-that-continue-another-cut",
    "The name of a called function is that of another tool if it begins with this name.",
    answer=_cut_names,
    chunk=_cut_names,
    applies_to=has_parameters("tools"),
)
# Violates tool_calls, whose other fields are ignored. Clients that put a stream together leave its index in a call.
indexes_of_past_calls_refused = when(
    "indexes-of-past-calls-refused",
    "A conversation is refused if an earlier call has an index, as it has in streams.",
    _has_indexes,
    refusing("messages.tool_calls: property 'index' is unsupported"),
    applies_to=has_parameters("tools"),
)
# Violates tool_calls: the calls of earlier turns, whatever is offered now.
calls_of_withdrawn_tools_refused = when(
    "calls-of-withdrawn-tools-refused",
    "A conversation is refused if an earlier call names a tool that the request does not offer any more.",
    _calls_withdrawn_tool,
    refusing("messages.tool_calls: tool reference not found in available tools"),
    applies_to=has_parameters("tools"),
)
