"""Finish reasons of answers that call tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, NotObserved, check
from conformance.judge.applicability import ANSWER, PLAIN_ANSWER, STREAMED_ANSWER, in_scenario, why_unanswered
from conformance.judge.token_counts import completion_count, requested_limit
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange


@check("finish.tool-calls-when-called", on=ANSWER)
def tool_calls_means_that_a_tool_is_called(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that ends with "tool_calls" calls a tool."""
    ended = [index for index in exchange.choices if exchange.finish_reason(index) == "tool_calls"]
    if not ended:
        raise NotExercised("the answer did not end with tool_calls")
    for index in ended:
        if not exchange.choices[index].tool_calls:
            yield Finding(f"/choices/{index}", "a tool call", "none, although the reason is tool_calls")


@check("finish.calls-end-with-tool-calls", on=PLAIN_ANSWER)
def a_called_tool_ends_with_tool_calls(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A plain answer that calls a tool, and is not cut off, ends with "tool_calls".

    If one function is forced by name, OpenAI's own service ends with "stop"; then both reasons are allowed.
    """
    yield from _calls_with_another_reason(exchange)


@check("finish.streamed-calls-end-with-tool-calls", on=STREAMED_ANSWER)
def a_streamed_call_ends_with_tool_calls(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A streamed answer that calls a tool, and is not cut off, ends with "tool_calls", as a plain answer does.

    Tables of streams may list fewer reasons than those of plain answers, so this is a requirement of its own.
    """
    yield from _calls_with_another_reason(exchange)


def _calls_with_another_reason(exchange: Exchange) -> Iterator[Finding]:
    calling = [index for index, choice in exchange.choices.items() if choice.tool_calls]
    sent: Any = exchange.request_json
    if not calling or not isinstance(sent, dict) or isinstance(sent.get("tool_choice"), dict):
        raise NotExercised("no tool is called, or one is forced by name")
    for index in calling:
        found = exchange.finish_reason(index)
        if found not in ("tool_calls", "length"):
            yield Finding(f"/choices/{index}/finish_reason", "tool_calls", repr(found))


@check("finish.length-when-call-cut", on=in_scenario("tool-choices", "cut*"))
def a_cut_call_ends_with_length(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A tool call whose arguments max_tokens has cut off ends with "length", so that no client executes it."""
    if reason := why_unanswered(exchange):
        raise NotObserved(reason)
    cut = [
        index
        for index, choice in exchange.choices.items()
        if any(read_json(call.arguments).error for call in choice.tool_calls)
    ]
    if not cut or completion_count(exchange) < requested_limit(exchange):
        raise NotExercised("no tool call was cut off")
    for index in cut:
        if exchange.finish_reason(index) != "length":
            yield Finding(f"/choices/{index}/finish_reason", "length", repr(exchange.finish_reason(index)))
