"""A check of calls that max_tokens cuts off: what an answer has of them is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, relation
from conformance.judge.applicability import why_unanswered

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


def _shows_something(exchange: Exchange) -> bool:
    choice = exchange.first_choice
    return choice is not None and bool(choice.content.strip() or choice.reasoning.strip() or choice.tool_calls)
