"""Checks of calls that max_tokens cuts off: what an answer has of them is shown, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, relation
from conformance.judge.applicability import why_unanswered
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


@relation("tools.cut-calls-shown", over=("cut", "cut-streamed"), unmet=why_unanswered)
def cut_calls_are_shown(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A call that max_tokens cuts off is not lost, plain or streamed: if one form shows a part of it, or text, the
    other one shows something, too.
    """
    shown = {name: _shows_something(exchange) for name, exchange in exchanges.items()}
    if not any(shown.values()):
        raise NotExercised("neither form shows anything")
    for name, exchange in exchanges.items():
        if not shown[name] and exchange.finish_reason() == "length":
            yield Finding(f"/{name}/choices/0/message", "a part of the call, or text", "neither")


@relation("tools.cut-arguments-stay-cut", over=("cut", "cut-streamed", "cut-earlier"), unmet=why_unanswered)
def cut_arguments_are_not_completed(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The arguments of a call that max_tokens cuts off are what the model has written until then: if they are a whole
    object, a longer answer, and one in the other form, have the same.

    A client that parses arguments would run a tool with an invented value.
    """
    cut = {
        name: calls[0].arguments or ""
        for name, exchange in exchanges.items()
        if exchange.finish_reason() == "length"
        and exchange.first_choice
        and (calls := exchange.first_choice.tool_calls)
    }
    if len(cut) < 2:
        raise NotExercised("fewer than two answers end in the arguments of a call")
    for name, arguments in cut.items():
        others = [other for other in cut.values() if other != arguments]
        if others and isinstance(read_json(arguments).value, dict):
            where = f"/{name}/choices/0/message/tool_calls/0/function/arguments"
            expected = f"the beginning of an object, as in another answer, which ends in {others[0][-40:]!r}"
            yield Finding(where, expected, f"a whole object that ends in {arguments[-40:]!r}")
            return


def _shows_something(exchange: Exchange) -> bool:
    choice = exchange.first_choice
    return choice is not None and bool(choice.content.strip() or choice.reasoning.strip() or choice.tool_calls)
