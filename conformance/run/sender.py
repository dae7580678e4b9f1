"""Send the request of a step within the budget, and send it again when the server asks to wait."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from conformance.run.budget import BudgetController
from conformance.run.calls import build_call
from openapi.server_values import read_seconds

if TYPE_CHECKING:
    from conformance.client.call import Call
    from conformance.exchange import Exchange
    from conformance.record import BudgetLimits, Record
    from conformance.run.calls import ServerUnderTest
    from conformance.scenario import Scenario, Step

TOO_MANY: Final = 429
BUSY: Final = (TOO_MANY, 503)
"""Statuses with which a server may ask to wait. Such an answer is not judged while the request can be repeated."""
MOST_RETRIES: Final = 3
LONGEST_WAIT_S: Final = 20.0
MOST_TOKENS: Final = 64
"""Of the answer to a request that is sent again to find out whether the server limits the rate."""


class Sender:
    """Sends requests to one server, and counts requests, tokens, retries and waits in the record."""

    def __init__(self, server: ServerUnderTest, limits: BudgetLimits, record: Record, id_prefix: str) -> None:
        self._server = server
        self._limits = limits
        self._record = record
        self._id_prefix = id_prefix
        self._budget = BudgetController(limits, record)
        self._answered: tuple[Scenario, Step] | None = None
        self._limits_rate = False
        self._blames_rate = False

    async def send(self, scenario: Scenario, step: Step, stop: str | list[str] | None) -> Exchange | None:
        """Send the request of a step, up to `MOST_RETRIES` more times if the server asks to wait.

        Return None if the run ends before there is an answer; `record.exhausted` then says why. A 429 is the answer to
        an invalid request if no valid one ever got it, and the server answers such a one meanwhile.
        """
        for attempt in range(MOST_RETRIES + 1):
            await self._budget.throttle()
            if not self._budget.reserve(step.tokens):
                return None
            deadline_s = self._budget.deadline_s()
            call = build_call(self._server, scenario, step, stop=stop, deadline_s=deadline_s, id_prefix=self._id_prefix)
            exchange = await self._exchange(call, step.tokens)
            if _timed_out(exchange) and deadline_s < self._limits.deadline_s:
                # Our own limit cut the exchange short: the server might still have answered.
                self._record.exhausted = self._budget.time_limit()
                return None
            wait_s = requested_wait_s(exchange, attempt)
            if wait_s is None:
                self._keep_answered(scenario, step, exchange)
                return exchange
            if exchange.status == TOO_MANY:
                self._limits_rate = self._limits_rate or step.expect == "answer"
                known = self._blames_rate or attempt == MOST_RETRIES
                if known and not self._limits_rate and await self._answers_others():
                    self._blames_rate = True
                    return exchange
            if attempt < MOST_RETRIES:
                await self._wait(wait_s)
        if exchange.status == TOO_MANY:
            self._record.exhausted = f"the server limits the rate: 429 to {MOST_RETRIES + 1} tries of one request"
            return None
        return exchange

    def _keep_answered(self, scenario: Scenario, step: Step, exchange: Exchange) -> None:
        """Keep the first short request that is answered and does not depend on another answer."""
        is_short = step.targets_chat and 0 < step.tokens <= MOST_TOKENS
        stands_alone = step.source is None and step.stop_after_events is None and not scenario.one_connection
        if self._answered is None and is_short and stands_alone and exchange.succeeded:
            self._answered = scenario, step

    async def _answers_others(self) -> bool:
        """Return whether the server answers a request that it answered before."""
        if self._answered is None or not self._budget.reserve(self._answered[1].tokens):
            return False
        scenario, step = self._answered
        deadline_s = self._budget.deadline_s()
        call = build_call(self._server, scenario, step, stop=None, deadline_s=deadline_s, id_prefix=self._id_prefix)
        return (await self._exchange(call, step.tokens)).succeeded

    async def _exchange(self, call: Call, tokens: int) -> Exchange:
        exchange = None
        try:
            exchange = await self._server.client.send(call)
        finally:
            self._budget.release(tokens, exchange)
        return exchange

    async def _wait(self, wait_s: float) -> None:
        wait_s = min(wait_s, self._budget.left_s())
        self._record.retries += 1
        self._record.waited_s += wait_s
        await asyncio.sleep(wait_s)


def _timed_out(exchange: Exchange) -> bool:
    return exchange.failure is not None and exchange.failure.kind == "timeout"


def requested_wait_s(exchange: Exchange, attempt: int) -> float | None:
    """Return the seconds that the server asks to wait, or None if it does not ask.

    Without a Retry-After header, 429 doubles the wait with each attempt and 503 does not ask to wait. A date or an
    invalid value counts as `LONGEST_WAIT_S`.
    """
    if exchange.status not in BUSY:
        return None
    value = exchange.header("retry-after")
    if value is None:
        return 2.0**attempt if exchange.status == TOO_MANY else None
    seconds = read_seconds(value, LONGEST_WAIT_S)
    return LONGEST_WAIT_S if seconds is None else seconds
