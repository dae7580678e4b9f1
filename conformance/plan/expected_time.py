"""Estimate how long a run takes, from the pace of the server's first answers.

A server that answers concurrent requests as fast as single ones needs the least time. One whose processors a single
request already occupies needs as much time for all requests as if they came one after another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.plan.expected_cost import ExpectedCost


@dataclass(frozen=True, slots=True)
class AnswerPace:
    """How fast a server answers one request. token_s: seconds for each further token; None if it was not measured."""

    answer_s: float
    token_s: float | None = None

    @classmethod
    def measured(cls, short_s: float, longer_s: float, tokens: int) -> AnswerPace:
        """Return the pace of a server by two answers: one of one token, and one of this number of tokens.

        The first may have taken longer than the second, as it opened the connection.
        """
        further = max(0.0, longer_s - short_s) / (tokens - 1) if tokens > 1 else None
        return cls(min(short_s, longer_s), further)


def describe_time(cost: ExpectedCost, pace: AnswerPace, concurrency: int, rate: float | None = None) -> str:
    """Return the least and the most time that requests of this cost usually take: `5 to 20 s`.

    rate: the most requests per second that are sent.
    """
    one_by_one_s = cost.requests * pace.answer_s + cost.completion_tokens * (pace.token_s or 0.0)
    slowed_s = 0.0 if rate is None else cost.requests / rate
    least, most = (max(1.0, slowed_s, seconds) for seconds in (one_by_one_s / concurrency, one_by_one_s))
    if pace.token_s is None:
        return f"at least {format_time(least)}"
    low, high = format_time(least), format_time(most)
    if low == high:
        return f"about {low}"
    (number, unit), (_, high_unit) = low.split(), high.split()
    return f"{number} to {high}" if unit == high_unit else f"{low} to {high}"


def format_time(seconds: float) -> str:
    """Return a time in seconds, minutes or hours, to two digits or the whole unit."""
    if round(seconds) < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if round(seconds / 60) < 100 else f"{seconds / 3600:.0f} h"
