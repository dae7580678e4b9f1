"""Allowance: what a run may still spend of its budget, and when its next request may leave."""

from __future__ import annotations

import asyncio
import math
import re
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from conformance.exchange import Exchange
    from conformance.run.run import Budget, Record

SHORTEST_S: Final = 0.1
"""A request is given at least so long."""
TAIL_BYTES: Final = 8192
"""Usage stands at the end of an answer; a body is not parsed for it while others are being timed."""

_TOTAL: Final = re.compile(rb'"total_tokens"\s*:\s*(\d{1,15})(?!\d)')


class Allowance:
    """Counts what a run spends into its record, and names in `record.exhausted` the limit that ends it.

    Tokens are counted as the server reports them (`usage.total_tokens`); where it reports none, an answer counts for
    the completion tokens that its request allowed. What is under way counts for those too, so that several requests at
    a time cannot pass the limit together by more than their prompts.
    """

    def __init__(self, budget: Budget, record: Record) -> None:
        self._budget = budget
        self._record = record
        self._reserved = 0
        self._started_s = time.monotonic()
        self._next_s = self._started_s

    def afford(self, tokens: int) -> bool:
        """Whether one more request may go out that can cost so many tokens; if not, the run is exhausted."""
        budget, record = self._budget, self._record
        if record.exhausted is None:
            if budget.max_requests is not None and record.requests >= budget.max_requests:
                record.exhausted = f"--max-requests {budget.max_requests}"
            elif budget.max_tokens is not None and record.tokens + self._reserved + tokens > budget.max_tokens:
                record.exhausted = f"--max-tokens {budget.max_tokens}"
            elif self.left_s() <= 0:
                record.exhausted = self.out_of_time()
        return record.exhausted is None

    async def turn(self) -> None:
        """Waits until the rate lets the next request go."""
        if self._budget.rate is None:
            return
        now_s = time.monotonic()
        at_s = max(now_s, self._next_s)
        self._next_s = at_s + 1 / self._budget.rate
        if at_s > now_s:
            await asyncio.sleep(min(at_s - now_s, self.left_s()))

    def reserve(self, tokens: int) -> None:
        """Notes that a request goes out."""
        self._record.requests += 1
        self._reserved += tokens

    def settle(self, tokens: int, exchange: Exchange | None) -> None:
        """Notes what came of it; None when it was broken off."""
        self._reserved -= tokens
        if exchange is not None:
            self._record.tokens += cost(exchange, tokens)

    def deadline_s(self) -> float:
        """The most that the next exchange may take."""
        return max(SHORTEST_S, min(self._budget.deadline_s, self.left_s()))

    def left_s(self) -> float:
        """What is left of the time for the whole run."""
        if self._budget.max_time_s is None:
            return math.inf
        return max(0.0, self._budget.max_time_s - (time.monotonic() - self._started_s))

    def out_of_time(self) -> str:
        """The limit, in the words of the option."""
        return f"--max-time {self._budget.max_time_s:g}"


def cost(exchange: Exchange, tokens: int) -> int:
    """Tokens that an exchange has cost: as reported, else `tokens` for an answer and none for a refusal."""
    if exchange.response is None or exchange.response.status >= 300:
        return 0
    tail = bytearray()
    for segment in reversed(exchange.response.segments):
        tail[:0] = segment.data[-TAIL_BYTES:]
        if len(tail) >= TAIL_BYTES:
            break
    reported = _TOTAL.findall(tail)
    return int(reported[-1]) if reported else tokens
