"""Send a good request after refused and failed ones, to learn whether the server still answers.

Most refusals are followed by a good request of another scenario anyway. The canary is sent only if they are not: after
a failed exchange, after a group of refusals, and at the end of the run.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from conformance.check import NotObserved
from conformance.judge.acceptance import is_completion
from conformance.judge.evidence.liveness import CANARY, LOST
from conformance.plan.scenarios.fitting import complete_body
from conformance.scenario import Scenario, Step

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from conformance.exchange import Exchange
    from conformance.record import Record
    from openapi.contract.contract import Contract

GROUP_SIZE: Final = 16
"""After this many refusals without a good answer the canary is sent."""
FREE_REQUESTS: Final = 2
SHARE: Final = 0.02
"""Canaries that a run may send: a few, and this share of its requests."""
PAUSES_S: Final = (0.5, 2.0, 5.0)
"""The waits before a canary that failed at once is sent again, for a server that is being restarted."""
DIED: Final = "the server stopped answering"
HEAD_BYTES: Final = 8192
"""How much of a body is searched for its choices. Parsing whole bodies would delay exchanges being timed."""


@dataclass(frozen=True, slots=True)
class _Suspect:
    """An exchange after which no good request has been answered yet. `ended_s` is a Unix time."""

    key: tuple[str, str]
    ended_s: float
    failed: bool


class Canary:
    """Decides when the canary is sent, and which exchanges are lost if it is not answered.

    is_due_first: send it before everything else, because a good request has failed already.
    """

    def __init__(self, contract: Contract, *, is_due_first: bool = False) -> None:
        self.died = False
        self.is_due_first = is_due_first
        limits = [name for name in ("max_tokens", "max_completion_tokens") if name in contract.parameters][:1]
        limit = {name: max(1, int(contract.parameters[name].schema.get("minimum", 1))) for name in limits}
        body = {"messages": [{"role": "user", "content": "Hello!"}], **limit}
        self._body = complete_body(body, contract)
        self._suspects: list[_Suspect] = []
        self._sent = 0
        self._sending = asyncio.Lock()

    def note(self, key: tuple[str, str], exchange: Exchange) -> None:
        """Take note of an exchange that has just ended."""
        if _has_choices(exchange):
            self._suspects = [suspect for suspect in self._suspects if suspect.ended_s > exchange.started_s]
        elif not _was_left(exchange) and (exchange.status is None or exchange.status >= 400 or exchange.failure):
            failed = exchange.failure is not None or (exchange.status or 0) >= 500
            self._suspects.append(_Suspect(key, time.time(), failed))

    def is_due(self, record: Record) -> bool:
        """Return whether the canary should be sent now."""
        if self.died or self._sending.locked() or record.exhausted is not None:
            return False
        if self._sent >= FREE_REQUESTS + SHARE * record.requests:
            return False
        return len(self._suspects) >= GROUP_SIZE or any(suspect.failed for suspect in self._suspects)

    async def check(self, record: Record, send: Callable[[Scenario, Step], Awaitable[Exchange | None]]) -> None:
        """Send the canary, a few times if it fails at once, and end the run if it is not answered."""
        async with self._sending:
            for pause_s in (*PAUSES_S, None):
                self._sent += 1
                step = Step(str(self._sent), body=self._body)
                scenario = Scenario(CANARY, "", (step,))
                answer = await send(scenario, step)
                if answer is None:  # the run has ended for another reason
                    return
                exchange = answer
                self.note((CANARY, step.name), exchange)
                if is_completion(exchange) or pause_s is None or not _failed_at_once(exchange):
                    break
                await asyncio.sleep(pause_s)
            record.exchanges[CANARY, step.name] = exchange
        if not is_completion(exchange) and record.exhausted is None:
            self.died = True
            record.exhausted = DIED

    async def finish(self, record: Record, send: Callable[[Scenario, Step], Awaitable[Exchange | None]]) -> None:
        """Send the last canary if it is needed, and mark the exchanges that are lost."""
        if self._suspects and not self.died and record.exhausted is None:
            await self.check(record, send)
        if self.died:
            lost = [suspect.key for suspect in self._suspects if suspect.key[0] != CANARY]
            record.missing.update((key, NotObserved(LOST)) for key in lost)


def _was_left(exchange: Exchange) -> bool:
    """Return whether we ended the exchange ourselves."""
    return exchange.failure is not None and exchange.failure.kind == "disconnected-by-us"


def _failed_at_once(exchange: Exchange) -> bool:
    return exchange.failure is None or exchange.failure.kind != "timeout"


def _has_choices(exchange: Exchange) -> bool:
    """Return whether the answer looks like a completion."""
    if exchange.response is None or not 200 <= exchange.response.status < 300 or not exchange.response.complete:
        return False
    head = bytearray()
    for segment in exchange.response.segments:
        head += segment.data
        if len(head) >= HEAD_BYTES:
            break
    return b'"choices"' in head
