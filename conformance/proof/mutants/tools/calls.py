"""Mutants of the fields of tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_either, edit_usage
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = dict[str, Any]

    from conformance.exchange import Exchange


def _edit_lists(exchange: Exchange, edit: Callable[[list[Call]], object]) -> Exchange:
    """Edit every list of calls, in messages and deltas."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            part = choice.get("delta") or choice.get("message") or {}
            if part.get("tool_calls"):
                edit(part["tool_calls"])

    return edit_either(exchange, change)


def edit_calls(exchange: Exchange, edit: Callable[[Call], object]) -> Exchange:
    """Edit every call, or piece of a call."""
    return _edit_lists(exchange, lambda calls: [edit(call) for call in calls])


def without_calls(exchange: Exchange) -> Exchange:
    """Replace the calls of an answer by text."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            part = choice.get("delta") or choice.get("message") or {}
            if part.pop("tool_calls", None):
                part["content"] = "It is sunny."
            if choice.get("finish_reason"):
                choice["finish_reason"] = "stop"

    return edit_either(exchange, change)


def with_arguments(exchange: Exchange, arguments: str) -> Exchange:
    """Replace the arguments of every call; in a stream in the piece with the name."""

    def change(call: Call) -> None:
        function = call.setdefault("function", {})
        function["arguments"] = arguments if function.get("name") else ""

    return edit_calls(exchange, change)


@mutant("tools.name-offered")
def name_is_written_twice(exchange: Exchange) -> Exchange:
    """The name of a call is repeated in it."""

    def change(call: Call) -> None:
        if name := call["function"].get("name"):
            call["function"]["name"] = name + name

    return edit_calls(exchange, change)


@mutant("tools.arguments-are-an-object")
def arguments_lack_their_last_brace(exchange: Exchange) -> Exchange:
    """The arguments of a call lack their last brace."""
    return with_arguments(exchange, '{"city": "Rome"')


@mutant("tools.tokens-counted")
def calls_cost_nothing(exchange: Exchange) -> Exchange:
    """usage counts no completion tokens for an answer with a call."""
    return edit_usage(exchange, lambda usage: usage.update(completion_tokens=0))


@mutant("tools.ids-given")
def call_has_no_id(exchange: Exchange) -> Exchange:
    """A call has no id."""
    return edit_calls(exchange, lambda call: call.pop("id", None))


@mutant("tools.ids-unique")
def calls_share_an_id(exchange: Exchange) -> Exchange:
    """A second call has the id of the first."""

    def change(calls: list[Call]) -> None:
        if calls[0].get("id"):
            calls.append({**calls[0], "index": calls[0].get("index", 0) + 7})

    return _edit_lists(exchange, change)


@mutant("tools.type-function")
def type_is_absent(exchange: Exchange) -> Exchange:
    """A call has no type."""
    return edit_calls(exchange, lambda call: call.pop("type", None))


@mutant("tools.streamed-index-given")
def pieces_have_no_index(exchange: Exchange) -> Exchange:
    """The pieces of a call have no index."""
    return edit_calls(exchange, lambda call: call.pop("index", None))


@mutant("tools.streamed-indices-in-order")
def indices_start_at_one(exchange: Exchange) -> Exchange:
    """The index of the first call is 1."""
    return edit_calls(exchange, lambda call: call.update(index=call["index"] + 1))


@mutant("tools.streamed-index-per-call")
def second_call_comes_at_the_same_index(exchange: Exchange) -> Exchange:
    """A second call, with a different id, has the index of the first."""

    def change(calls: list[Call]) -> None:
        if calls[0].get("id"):
            calls.append({**calls[0], "id": "another call"})

    return _edit_lists(exchange, change)


@mutant("tools.streamed-name-once")
def name_comes_with_every_piece(exchange: Exchange) -> Exchange:
    """The name of a call is sent with every piece, and once more."""

    def change(calls: list[Call]) -> None:
        if calls[0]["function"].get("name"):
            calls.append({"index": calls[0]["index"], "function": {"name": calls[0]["function"]["name"]}})

    return _edit_lists(exchange, change)


@mutant("tools.streamed-name-first")
def arguments_come_before_the_name(exchange: Exchange) -> Exchange:
    """A piece of the arguments is sent before the name."""

    def change(calls: list[Call]) -> None:
        if calls[0]["function"].get("name"):
            calls.insert(0, {"index": calls[0]["index"], "function": {"arguments": " "}})

    return _edit_lists(exchange, change)


@mutant("tools.streamed-as-plain", steps="streamed*")
def calls_are_lost_from_the_stream(exchange: Exchange) -> Exchange:
    """The stream has no call although the plain answer has one."""
    return without_calls(exchange)


@mutant("tools.streamed-parts-not-empty")
def later_pieces_have_empty_names(exchange: Exchange) -> Exchange:
    """The pieces of a call that have no name have an empty one."""
    return edit_calls(exchange, lambda call: call.setdefault("function", {}).setdefault("name", ""))
