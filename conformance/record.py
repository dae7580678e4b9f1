"""The limits of a run, and the record of what it sent and received."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from conformance.check import NotObserved
    from conformance.exchange import Exchange

JUDGING_S: Final = 30.0
JUDGING_SHARE: Final = 0.1
"""The time that sending leaves for judging: this share of the whole, `JUDGING_S` at most."""
FAIL_FAST: Final = "--fail-fast"
"""The beginning of the reason why a run ended at its first failure."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run had spent of its limits before a plan was sent."""

    requests: int = 0
    tokens: int = 0
    time_s: float = 0.0


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """The limits of a run; None means unlimited.

    `max_time_s` includes judging: sending ends earlier, at `sending_s`. `rate` is in requests per second.
    `deadline_s` is the time limit for one request, including the whole response.
    """

    max_requests: int | None = None
    max_tokens: int | None = None
    max_time_s: float | None = None
    rate: float | None = None
    deadline_s: float = 120.0
    concurrency: int = 4
    spent: Spent = Spent()

    @property
    def sending_s(self) -> float | None:
        """The time after which nothing is sent, so that time is left to judge the answers."""
        if self.max_time_s is None:
            return None
        return self.max_time_s - min(JUDGING_S, JUDGING_SHARE * self.max_time_s)


@dataclass(slots=True)
class Record:
    """The exchanges of a run by (scenario, step), and why the other steps were not sent.

    `exhausted` names what ended the run early: one of our limits, or a server that refuses every request. `retries`
    counts the requests that were sent again because the server asked to wait; `waited_s` is how long those waits took,
    summed over all requests.
    """

    exchanges: dict[tuple[str, str], Exchange] = field(default_factory=dict)
    missing: dict[tuple[str, str], NotObserved] = field(default_factory=dict)
    exhausted: str | None = None
    requests: int = 0
    tokens: int = 0
    retries: int = 0
    waited_s: float = 0.0
