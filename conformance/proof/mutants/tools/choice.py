"""Mutants of whether the server calls tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_choice, edit_message
from conformance.proof.editing.responses import refuse
from conformance.proof.editing.streams import FIRST, edit_deltas
from conformance.proof.mutants.mutant import mutant
from conformance.proof.mutants.tools.calls import edit_calls, without_calls

if TYPE_CHECKING:
    from conformance.exchange import Exchange

    Call = dict[str, Any]


def _with_call(exchange: Exchange) -> Exchange:
    """Add a call to the answer, streamed or plain."""
    function = {"name": "get_weather", "arguments": "{}"}
    calls: list[Call] = [{"index": 0, "id": "call-1", "type": "function", "function": function}]
    if exchange.is_stream:
        return edit_deltas(exchange, lambda delta: delta.update(tool_calls=calls), FIRST)
    return edit_message(exchange, lambda message: message.update(tool_calls=calls))


@mutant("tools.none-calls-nothing")
def tool_is_called_all_the_same(exchange: Exchange) -> Exchange:
    """With the tool_choice "none" a tool is called."""
    return _with_call(exchange)


@mutant("tools.unoffered-not-called")
def tool_is_made_up(exchange: Exchange) -> Exchange:
    """A tool is called that the request does not offer."""
    return _with_call(exchange)


@mutant("tools.required-calls")
def required_is_ignored(exchange: Exchange) -> Exchange:
    """With the tool_choice "required" the model answers with text."""
    return without_calls(exchange)


@mutant("tools.named-is-called")
def another_tool_is_called(exchange: Exchange) -> Exchange:
    """Another function is called than the one that tool_choice names."""

    def change(call: Call) -> None:
        tool = call.get("function") or call.get("custom") or {}
        if tool.get("name"):
            tool["name"] = "get_weather"

    return edit_calls(exchange, change)


@mutant("tools.allowed-are-called")
def another_tool_than_allowed_is_called(exchange: Exchange) -> Exchange:
    """Another function is called than those that tool_choice allows."""
    return another_tool_is_called.change(exchange)


@mutant("tools.unknown-choice-refused")
def choice_of_an_unknown_tool_fails(exchange: Exchange) -> Exchange:
    """A tool_choice that names an unknown function gets a 500."""
    return refuse(exchange, 500)


@mutant("tools.no-markers-in-text")
def call_stands_in_the_text(exchange: Exchange) -> Exchange:
    """A call is in the text, with the model's own markers."""
    text = '<tool_call>{"name": "get_weather"}</tool_call>'
    if exchange.is_stream:
        return edit_deltas(exchange, lambda delta: delta.update(content=text), FIRST)
    return edit_message(exchange, lambda message: message.update(content=text))


@mutant("tools.one-at-a-time")
def two_tools_are_called_at_once(exchange: Exchange) -> Exchange:
    """With parallel_tool_calls false an answer has two calls."""
    function = {"name": "get_weather", "arguments": '{"city": "Rome"}'}
    calls: list[Call] = [{"index": at, "id": f"call-{at}", "type": "function", "function": function} for at in range(2)]
    if exchange.is_stream:
        return edit_deltas(exchange, lambda delta: delta.update(tool_calls=calls), FIRST)
    return edit_message(exchange, lambda message: message.update(tool_calls=calls))


@mutant("tools.history-answered")
def conversation_with_calls_is_not_understood(exchange: Exchange) -> Exchange:
    """A conversation with tool calls gets a 500."""
    return refuse(exchange, 500)


@mutant("tools.bad-history-survived")
def bad_history_breaks_the_server(exchange: Exchange) -> Exchange:
    """A result without its call gets a 500."""
    return refuse(exchange, 500)


@mutant("tools.text-or-call")
def what_was_written_is_lost(exchange: Exchange) -> Exchange:
    """The answer has neither content nor a call."""

    def change(choice: dict[str, Any]) -> None:
        choice["message"].update(content="", tool_calls=[])
        choice.update(finish_reason="stop")

    return edit_choice(exchange, change)
