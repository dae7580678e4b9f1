"""Faults in whether the server calls a tool."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import choices_of, hooked_fault, message_of, requires_check
from reference_server.faults.hooks import CannedResponse
from reference_server.faults.topics.tools.calls import called, calls

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

CALL: Final[Json] = {
    "index": 0,
    "id": "call-1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": "{}"},
}


calls_in_content = called(
    "calls-in-content",
    lambda found, choice: message_of(choice).update(tool_calls=[], content=f"<tool_call>{found}</tool_call>"),
    "Tool calls are in the content, between tags.",
    streamed=False,
    bugs=[89, 84],
)


def _forget_choice(request: ServedRequest) -> None:
    if request.payload.get("tool_choice") not in (None, "auto", "none"):
        request.payload["tool_choice"] = "auto"


def _allow_everything(request: ServedRequest) -> None:
    choice = request.payload.get("tool_choice")
    if isinstance(choice, dict) and "allowed_tools" in choice:
        request.payload["tool_choice"] = "required"


allowed_tools_forgotten = hooked_fault(
    "every-tool-allowed",
    "Any tool is called if tool_choice allows some of them.",
    request=_allow_everything,
    applies_to=requires_check("tools.allowed-are-called"),
)


def _forget_grammar(request: ServedRequest) -> None:
    for tool in request.payload.get("tools") or ():
        if isinstance(tool, dict) and isinstance(tool.get("custom"), dict):
            tool["custom"].pop("format", None)


grammar_of_custom_tool_forgotten = hooked_fault(
    "grammar-of-custom-tool-ignored",
    "The input of a custom tool has any form, whatever its grammar is.",
    request=_forget_grammar,
    applies_to=requires_check("tools.custom-input-fits-grammar"),
)


def _call_custom_as_functions(response: Json, _request: ServedRequest) -> None:
    for choice in choices_of(response):
        for call in message_of(choice).get("tool_calls") or ():
            if custom := call.pop("custom", None):
                call["type"] = "function"
                call["function"] = {"name": custom["name"], "arguments": json.dumps({"input": custom["input"]})}


custom_tools_called_as_functions = hooked_fault(
    "custom-tools-called-as-functions",
    "A custom tool is called like a function.",
    answer=_call_custom_as_functions,
    applies_to=requires_check("tools.custom-input-fits-grammar"),
)


def _forget_tools(request: ServedRequest) -> None:
    if request.payload.get("tools"):
        for name in ("tools", "tool_choice", "parallel_tool_calls"):
            request.payload.pop(name, None)


def _call_all_the_same(response: Json, request: ServedRequest) -> None:
    if request.payload.get("tool_choice") == "none" and request.payload.get("tools"):
        for choice in choices_of(response):
            message_of(choice)["tool_calls"] = [CALL]


def _forget_order(request: ServedRequest) -> None:
    request.payload.pop("parallel_tool_calls", None)


calls_at_once = hooked_fault(
    "calls-at-once",
    "`parallel_tool_calls: false` is ignored.",
    request=_forget_order,
    applies_to=lambda contract: calls(contract) and "parallel_tool_calls" in contract.parameters,
)
choice_ignored = hooked_fault(
    "tool-choice-ignored",
    "A `tool_choice` of required, or of a named tool, is ignored.",
    request=_forget_choice,
    applies_to=calls,
    bugs=[92],
)
tools_ignored = hooked_fault(
    "tools-ignored",
    "`tools` is accepted and ignored.",
    request=_forget_tools,
    applies_to=calls,
    declares=("tools",),
    bugs=[92],
)
none_ignored = hooked_fault(
    "tool-choice-none-ignored",
    "A tool is called although `tool_choice` disables tools.",
    request=_forget_tools,
    answer=_call_all_the_same,
    chunk=_call_all_the_same,
    applies_to=calls,
    declares=("tools",),
    bugs=[91],
)


def _called_unasked(response: Json, request: ServedRequest) -> None:
    if not request.payload.get("tools"):
        for choice in choices_of(response):
            if choice.get("finish_reason") is None or "message" in choice:
                message_of(choice)["tool_calls"] = [CALL]


def _history(request: ServedRequest) -> CannedResponse | None:
    messages = request.payload.get("messages")
    if any(isinstance(message, dict) and message.get("role") == "tool" for message in messages or ()):
        return CannedResponse(500, b"{}")
    return None


calls_lost = called(
    "calls-lost",
    lambda found, choice: message_of(choice).update(tool_calls=[], content="") or found,
    "An answer that is neither text nor a tool call is lost.",
)
call_unasked = hooked_fault(
    "call-unasked",
    "A tool is called although none was offered.",
    answer=_called_unasked,
    chunk=_called_unasked,
    applies_to=calls,
)
history_of_calls_is_500 = hooked_fault(
    "history-of-calls-500", "A conversation with tool calls gets a 500.", request=_history, applies_to=calls, bugs=[96]
)
