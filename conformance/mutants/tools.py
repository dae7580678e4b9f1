"""Tools that are called against the client's will, and calls that nobody can carry out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.mutants.editing import (
    FIRST,
    edit_choice,
    edit_deltas,
    edit_either,
    edit_message,
    refuse,
)
from conformance.mutants.mutant import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange

    Call = dict[str, Any]


def _with_call(exchange: Exchange) -> Exchange:
    """The answer with a call, streamed or plain."""
    function = {"name": "get_weather", "arguments": "{}"}
    calls: list[Call] = [{"index": 0, "id": "call-1", "type": "function", "function": function}]
    if exchange.is_stream:
        return edit_deltas(exchange, lambda delta: delta.update(tool_calls=calls), FIRST)
    return edit_message(exchange, lambda message: message.update(tool_calls=calls))


def _edit_lists(exchange: Exchange, edit: Callable[[list[Call]], object]) -> Exchange:
    """Every list of calls changed, in messages and deltas."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            said = choice.get("delta") or choice.get("message") or {}
            if said.get("tool_calls"):
                edit(said["tool_calls"])

    return edit_either(exchange, change)


def _edit_calls(exchange: Exchange, edit: Callable[[Call], object]) -> Exchange:
    """Every call, or piece of one, changed."""
    return _edit_lists(exchange, lambda calls: [edit(call) for call in calls])


def _silenced(exchange: Exchange) -> Exchange:
    """No call, and a text in its place."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            said = choice.get("delta") or choice.get("message") or {}
            if said.pop("tool_calls", None):
                said["content"] = "It is sunny."
            if choice.get("finish_reason"):
                choice["finish_reason"] = "stop"

    return edit_either(exchange, change)


def _with_arguments(exchange: Exchange, arguments: str) -> Exchange:
    """Other arguments of every call; in a stream with its name."""

    def change(call: Call) -> None:
        function = call.setdefault("function", {})
        function["arguments"] = arguments if function.get("name") else ""

    return _edit_calls(exchange, change)


@mutant("tools.none-calls-nothing")
def tool_is_called_all_the_same(exchange: Exchange) -> Exchange:
    """With the tool_choice "none" a tool is called all the same."""
    return _with_call(exchange)


@mutant("tools.unoffered-not-called")
def tool_is_made_up(exchange: Exchange) -> Exchange:
    """A tool is called that nobody offered."""
    return _with_call(exchange)


@mutant("tools.required-calls")
def required_is_ignored(exchange: Exchange) -> Exchange:
    """With the tool_choice "required" the model talks."""
    return _silenced(exchange)


@mutant("tools.named-is-called")
def another_tool_is_called(exchange: Exchange) -> Exchange:
    """Another tool is called than the one that was named."""
    return _edit_calls(
        exchange, lambda call: call["function"].update(name="get_weather") if call["function"].get("name") else None
    )


@mutant("tools.name-offered")
def name_is_written_twice(exchange: Exchange) -> Exchange:
    """The name of a call stands twice in it."""

    def change(call: Call) -> None:
        if name := call["function"].get("name"):
            call["function"]["name"] = name + name

    return _edit_calls(exchange, change)


@mutant("tools.arguments-are-an-object")
def arguments_lack_their_last_brace(exchange: Exchange) -> Exchange:
    """The arguments of a call lack their last brace."""
    return _with_arguments(exchange, '{"city": "Rome"')


@mutant("tools.arguments-fit-schema")
def arguments_are_of_no_parameter(exchange: Exchange) -> Exchange:
    """The arguments of a call lack what its function requires."""
    return _with_arguments(exchange, '{"nothing": 1}')


@mutant("tools.ids-given")
def call_has_no_id(exchange: Exchange) -> Exchange:
    """A call has no id."""
    return _edit_calls(exchange, lambda call: call.pop("id", None))


@mutant("tools.ids-unique")
def calls_share_an_id(exchange: Exchange) -> Exchange:
    """A second call has the id of the first."""

    def change(calls: list[Call]) -> None:
        if calls[0].get("id"):
            calls.append({**calls[0], "index": calls[0].get("index", 0) + 7})

    return _edit_lists(exchange, change)


@mutant("tools.type-function")
def type_is_absent(exchange: Exchange) -> Exchange:
    """A call says nothing of its type."""
    return _edit_calls(exchange, lambda call: call.pop("type", None))


@mutant("tools.no-markers-in-text")
def call_stands_in_the_text(exchange: Exchange) -> Exchange:
    """A call stands in the text, in the model's own marks."""
    text = '<tool_call>{"name": "get_weather"}</tool_call>'
    if exchange.is_stream:
        return edit_deltas(exchange, lambda delta: delta.update(content=text), FIRST)
    return edit_message(exchange, lambda message: message.update(content=text))


@mutant("tools.streamed-index-given")
def pieces_have_no_index(exchange: Exchange) -> Exchange:
    """The pieces of a call have no index."""
    return _edit_calls(exchange, lambda call: call.pop("index", None))


@mutant("tools.streamed-indices-in-order")
def indices_start_at_one(exchange: Exchange) -> Exchange:
    """The index of the first call is 1."""
    return _edit_calls(exchange, lambda call: call.update(index=call["index"] + 1))


@mutant("tools.streamed-index-per-call")
def second_call_comes_at_the_same_index(exchange: Exchange) -> Exchange:
    """A second call, with an id of its own, comes at the index of the first."""

    def change(calls: list[Call]) -> None:
        if calls[0].get("id"):
            calls.append({**calls[0], "id": "another call"})

    return _edit_lists(exchange, change)


@mutant("tools.streamed-name-once")
def name_comes_with_every_piece(exchange: Exchange) -> Exchange:
    """The name of a call comes with every piece, and once more."""

    def change(calls: list[Call]) -> None:
        if calls[0]["function"].get("name"):
            calls.append({"index": calls[0]["index"], "function": {"name": calls[0]["function"]["name"]}})

    return _edit_lists(exchange, change)


@mutant("tools.streamed-name-first")
def arguments_come_before_the_name(exchange: Exchange) -> Exchange:
    """A piece of the arguments comes before the name."""

    def change(calls: list[Call]) -> None:
        if calls[0]["function"].get("name"):
            calls.insert(0, {"index": calls[0]["index"], "function": {"arguments": " "}})

    return _edit_lists(exchange, change)


@mutant("tools.streamed-as-plain", steps="streamed*")
def calls_are_lost_from_the_stream(exchange: Exchange) -> Exchange:
    """A stream holds no call where the plain answer does."""
    return _silenced(exchange)


@mutant("tools.one-at-a-time")
def two_tools_are_called_at_once(exchange: Exchange) -> Exchange:
    """With parallel_tool_calls false two calls come at once."""
    function = {"name": "get_weather", "arguments": '{"city": "Rome"}'}
    calls: list[Call] = [{"id": f"call-{at}", "type": "function", "function": function} for at in range(2)]
    return edit_message(exchange, lambda message: message.update(tool_calls=calls))


@mutant("tools.history-answered")
def conversation_with_calls_is_not_understood(exchange: Exchange) -> Exchange:
    """A conversation that holds calls ends in a 500."""
    return refuse(exchange, 500)


@mutant("tools.bad-history-survived")
def bad_history_breaks_the_server(exchange: Exchange) -> Exchange:
    """A result without its call ends in a 500."""
    return refuse(exchange, 500)


@mutant("tools.text-or-call")
def what_was_written_is_lost(exchange: Exchange) -> Exchange:
    """What the model wrote is neither text nor call: it is lost."""

    def change(choice: dict[str, Any]) -> None:
        choice["message"].update(content="", tool_calls=[])
        choice.update(finish_reason="stop")

    return edit_choice(exchange, change)
