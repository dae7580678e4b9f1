"""Faults in whether the server calls a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import at_seams, choices_of, spoken
from reference_server.faults.hooks import Reply
from reference_server.faults.topics.tools.calls import called, calls

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, Told

CALL: Final[Json] = {
    "index": 0,
    "id": "call-1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": "{}"},
}


calls_in_content = called(
    "calls-in-content",
    lambda found, choice: spoken(choice).update(tool_calls=[], content=f"<tool_call>{found}</tool_call>"),
    "Tool calls stand in the content, between their tags.",
    streamed=False,
    bugs=[89, 84],
)


def _forget_choice(told: Told) -> None:
    if told.sent.get("tool_choice") not in (None, "auto", "none"):
        told.sent["tool_choice"] = "auto"


def _forget_tools(told: Told) -> None:
    if told.sent.get("tools"):
        for name in ("tools", "tool_choice", "parallel_tool_calls"):
            told.sent.pop(name, None)


def _call_all_the_same(holder: Json, told: Told) -> None:
    if told.sent.get("tool_choice") == "none" and told.sent.get("tools"):
        for choice in choices_of(holder):
            spoken(choice)["tool_calls"] = [CALL]


def _forget_order(told: Told) -> None:
    told.sent.pop("parallel_tool_calls", None)


calls_at_once = at_seams(
    "calls-at-once", "`parallel_tool_calls: false` is ignored.", request=_forget_order,
    fits=lambda contract: calls(contract) and "parallel_tool_calls" in contract.parameters,
)  # fmt: skip
choice_ignored = at_seams(
    "tool-choice-ignored", "`tool_choice` required, or a named tool, is ignored.", request=_forget_choice, fits=calls,
    bugs=[92],
)  # fmt: skip
tools_ignored = at_seams(
    "tools-ignored", "`tools` is taken and ignored.", request=_forget_tools, fits=calls, declares=("tools",), bugs=[92]
)
none_ignored = at_seams(
    "tool-choice-none-ignored",
    "A tool is called although `tool_choice` is none.",
    request=_forget_tools,
    answer=_call_all_the_same,
    chunk=_call_all_the_same,
    fits=calls,
    declares=("tools",),
    bugs=[91],
)


def _called_unasked(holder: Json, told: Told) -> None:
    if not told.sent.get("tools"):
        for choice in choices_of(holder):
            if choice.get("finish_reason") is None or "message" in choice:
                spoken(choice)["tool_calls"] = [CALL]


def _history(told: Told) -> Reply | None:
    messages = told.sent.get("messages")
    if any(isinstance(message, dict) and message.get("role") == "tool" for message in messages or ()):
        return Reply(500, b"{}")
    return None


calls_lost = called(
    "calls-lost", lambda found, choice: spoken(choice).update(tool_calls=[], content="") or found,
    "What the model wrote is neither text nor call: it is lost.",
)  # fmt: skip
call_unasked = at_seams(
    "call-unasked", "A tool is called that nobody offered.", answer=_called_unasked, chunk=_called_unasked, fits=calls
)
history_of_calls_is_500 = at_seams(
    "history-of-calls-500", "A conversation that holds calls gets a 500.", request=_history, fits=calls, bugs=[96]
)
