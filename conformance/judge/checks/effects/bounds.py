"""Checks of values at the ends of ranges where they must not have an effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, NotObserved, series
from conformance.judge.applicability import why_unanswered
from conformance.judge.evidence.answer_difference import compare_answers
from conformance.judge.evidence.repetition import require_repetition
from conformance.plan.scenarios.greedy_bounds import SCENARIO

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


@series("effects.greedy-at-the-bounds", scenario=SCENARIO)
def the_ends_of_ranges_keep_greedy_answers(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A greedy answer is the same with the least and greatest top_p, top_k, min_p and seed, and at temperatures near 0.

    A value that is refused is judged elsewhere. Not reported if rounding may be the cause.
    """
    base = exchanges.get("base")
    if base is None or (reason := why_unanswered(base)):
        raise NotObserved("it was not sent" if base is None else reason)
    others = {name: item for name, item in exchanges.items() if name != "base" and not why_unanswered(item)}
    if not others:
        raise NotExercised("no request with such a value was answered")
    for name, exchange in others.items():
        if compare_answers(base, exchange) == "clear":
            require_repetition(context)
            yield Finding(f"/{name}/choices", repr(base.content())[:200], repr(exchange.content())[:200])
