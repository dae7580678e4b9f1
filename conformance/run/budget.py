"""Keep a run within its limits on requests, tokens, time and rate."""

from __future__ import annotations

import asyncio
import math
import re
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from conformance.exchange import Exchange
    from conformance.record import BudgetLimits, Record

SHORTEST_S: Final = 0.1
"""The shortest time limit that a request is given."""
TAIL_BYTES: Final = 8192
"""How much of the end of a body is searched for its usage. Parsing whole bodies would delay exchanges being timed."""

_TOTAL: Final = re.compile(rb'"total_tokens"\s*:\s*(\d{1,15})(?!\d)')


class BudgetController:
    """Counts what a run spends into its record, and names in `record.exhausted` the limit that ends the run.

    Tokens are counted as the server reports them (`usage.total_tokens`). An answer without usage counts as the
    completion tokens that its request allowed. A request in flight counts as those tokens too, so that concurrent
    requests cannot exceed the limit together by more than their prompts.
    """

    def __init__(self, limits: BudgetLimits, record: Record) -> None:
        self._limits = limits
        self._record = record
        self._reserved = 0
        self._started_s = time.monotonic()
        self._next_s = self._started_s

    async def throttle(self) -> None:
        """Wait until the rate limit allows the next request."""
        if self._limits.rate is None:
            return
        now_s = time.monotonic()
        at_s = max(now_s, self._next_s)
        self._next_s = at_s + 1 / self._limits.rate
        if at_s > now_s:
            await asyncio.sleep(min(at_s - now_s, self.left_s()))

    def reserve(self, tokens: int) -> bool:
        """Count a request that can cost up to `tokens`; return False if the budget does not allow it."""
        limits, record, spent = self._limits, self._record, self._limits.spent
        if record.exhausted is None:
            if limits.max_requests is not None and spent.requests + record.requests >= limits.max_requests:
                record.exhausted = f"--max-requests {limits.max_requests}"
            elif (
                limits.max_tokens is not None
                and spent.tokens + record.tokens + self._reserved + tokens > limits.max_tokens
            ):
                record.exhausted = f"--max-tokens {limits.max_tokens}"
            elif self.left_s() <= 0:
                record.exhausted = self.time_limit()
        if record.exhausted is not None:
            return False
        record.requests += 1
        self._reserved += tokens
        return True

    def release(self, tokens: int, exchange: Exchange | None) -> None:
        """Replace a reservation by what the exchange cost; None if the request was cancelled."""
        self._reserved -= tokens
        if exchange is not None:
            self._record.tokens += count_tokens(exchange, tokens)

    def deadline_s(self) -> float:
        """The time limit for the next request."""
        return max(SHORTEST_S, min(self._limits.deadline_s, self.left_s()))

    def left_s(self) -> float:
        """The time that is left to send requests."""
        if self._limits.sending_s is None:
            return math.inf
        return max(0.0, self._limits.sending_s - self._limits.spent.time_s - (time.monotonic() - self._started_s))

    def time_limit(self) -> str:
        """The limit on the time of the run, written as its option."""
        return f"--max-time {self._limits.max_time_s:g}"


def count_tokens(exchange: Exchange, tokens: int) -> int:
    """Return the tokens that an exchange cost: as reported, else `tokens` for an answer and 0 for a refusal."""
    if exchange.response is None or exchange.response.status >= 300:
        return 0
    tail = bytearray()
    for segment in reversed(exchange.response.segments):
        tail[:0] = segment.data[-TAIL_BYTES:]
        if len(tail) >= TAIL_BYTES:
            break
    reported = _TOTAL.findall(tail)
    return int(reported[-1]) if reported else tokens
