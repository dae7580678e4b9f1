"""Send again, alone, what failed while other requests were processed: did the request fail, or the load?

A server that fails under load would otherwise break every requirement that one of the failed requests exercises. If
a request is answered alone, this answer is judged in its place, and the failed exchange is evidence of one requirement.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from conformance.judge.evidence.load_failures import LOAD_FAILURES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from conformance.exchange import Exchange
    from conformance.record import Record
    from conformance.scenario import Scenario, Step

    SendAgain = Callable[[Scenario, Step], Awaitable[Exchange | None]]

SAMPLE: Final = 12
"""Failed requests that are sent again; if none of them is answered alone, load is not the reason."""
MOST: Final = 60
"""Failures of the load that are recorded; more of them show nothing new."""
UNTRIED: Final = ("disconnected-by-us", "not-kept", "too-large", "timeout")
"""Failures of our own making, and those that would cost as long again."""
SERVER_ERROR: Final = 500


@dataclass(frozen=True, slots=True)
class _Failure:
    scenario: Scenario
    step: Step
    exchange: Exchange


class SecondTries:
    """The requests of a run that failed while others were processed.

    answered: how many of them were answered when they were sent again alone.
    """

    def __init__(self) -> None:
        self.answered = 0
        self._failures: list[_Failure] = []
        self._is_sampled = False

    @property
    def is_due(self) -> bool:
        """Whether a sample of failures should be sent again now, to learn how the rest of the run is to be sent."""
        return not self._is_sampled and len(self._failures) >= SAMPLE

    def note(self, scenario: Scenario, step: Step, exchange: Exchange) -> None:
        """Take note of an exchange that was not alone.

        Invalid requests and scenarios about load, order and leaving are judged as they were sent.
        """
        about_load = scenario.together or scenario.alone or scenario.spread or scenario.disconnects or step.crowd
        is_usual = step.expect != "refusal" and step.source is None and not about_load
        if _has_failed(exchange) and is_usual:
            self._failures.append(_Failure(scenario, step, exchange))

    async def send(self, record: Record, send: SendAgain) -> None:
        """Send the failed requests again, one after another, and record the answers in their place.

        At most `SAMPLE` of them unless one is answered.
        """
        self._is_sampled = True
        failures, self._failures = self._failures, []
        random.Random(0).shuffle(failures)  # the first ones should not be of one kind
        for number, failure in enumerate(failures):
            if self.answered == MOST or (number == SAMPLE and not self.answered):
                return
            exchange = await send(failure.scenario, failure.step)
            if exchange is None:
                return
            if not _has_failed(exchange):
                self.answered += 1
                _put_in_place(record, failure, exchange, str(self.answered))


def _put_in_place(record: Record, failure: _Failure, exchange: Exchange, number: str) -> None:
    """Record the answer to a request that was sent alone, and the failed exchange as one of a scenario of its own."""
    failed = failure.exchange
    prefix = failed.id.removesuffix(f"{failed.scenario}/{failed.step}")
    moved = replace(failed, id=f"{prefix}{LOAD_FAILURES}/{number}", scenario=LOAD_FAILURES, step=number)
    record.exchanges[LOAD_FAILURES, number] = moved
    record.exchanges[failure.scenario.id, failure.step.name] = exchange


def _has_failed(exchange: Exchange) -> bool:
    if exchange.failure is not None:
        return exchange.failure.kind not in UNTRIED
    return exchange.status is None or exchange.status >= SERVER_ERROR
