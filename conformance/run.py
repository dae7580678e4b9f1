"""Run: sends a plan's requests, concurrently and inside a budget, and keeps what came back."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.client import Call
from conformance.errors import HarnessError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.client import Client
    from conformance.exchange import Exchange
    from conformance.plan import Plan
    from conformance.scenario import Scenario, Step, StopFrom
    from conformance.target import Target
    from openapi.contract import Contract

JSON_TYPE = "application/json"
BUSY = (429, 503)  # the server asks to wait: no verdict on it
MOST_RETRIES = 3
LONGEST_WAIT_S = 20.0
WRONG_KEY = "chatproof-wrong-key-0000000000000000"


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a run. None: no limit. `deadline_s` is the most that one exchange may take, all of it."""

    max_requests: int | None = None
    max_time_s: float | None = None
    deadline_s: float = 120.0
    concurrency: int = 4


@dataclass(slots=True)
class Record:
    """What came of a plan: exchanges by (scenario, step), and why others were not made."""

    exchanges: dict[tuple[str, str], Exchange] = field(default_factory=dict)
    missing: dict[tuple[str, str], str] = field(default_factory=dict)
    exhausted: str | None = None
    requests: int = 0


class Run:
    """Sends one plan to one target. `progress` is called after every exchange."""

    def __init__(
        self,
        plan: Plan,
        client: Client,
        target: Target,
        contract: Contract,
        model: str,
        budget: Budget,
        progress: Callable[[Record], None] = lambda _: None,
    ) -> None:
        self.plan = plan
        self.client = client
        self.target = target
        self.contract = contract
        self.model = model
        self.budget = budget
        self.progress = progress
        self.record = Record()
        self._places = asyncio.Semaphore(budget.concurrency)
        self._started_s = time.monotonic()

    async def execute(self) -> Record:
        """Sends every scenario, `concurrency` exchanges at a time, and returns the record.

        Cancelling it leaves the record as far as it came.
        """
        try:
            async with asyncio.TaskGroup() as group:
                for scenario in self.plan.scenarios:
                    group.create_task(self._scenario(scenario))
        except* HarnessError as errors:
            first: BaseException = errors
            while isinstance(first, BaseExceptionGroup):
                first = first.exceptions[0]
            raise first from None
        return self.record

    async def _scenario(self, scenario: Scenario) -> None:
        if scenario.together:
            async with asyncio.TaskGroup() as group:
                for step in scenario.steps:
                    group.create_task(self._step(scenario, step))
            return
        async with self._places:
            for step in scenario.steps:
                await self._step(scenario, step)

    async def _step(self, scenario: Scenario, step: Step) -> None:
        key = (scenario.id, step.name)
        stop = None
        if step.stop_from is not None:
            stop = self._stop(scenario, step.stop_from)
            if stop is None:
                self.record.missing[key] = (
                    f"the answer of step {step.stop_from.step!r} is too short to take a stop from"
                )
                return
        for attempt in range(MOST_RETRIES + 1):
            if not self._afford():
                self.record.missing[key] = f"the budget ran out ({self.record.exhausted})"
                return
            self.record.requests += 1
            exchange = await self.client.send(self._call(scenario, step, stop))
            wait_s = _wait(exchange)
            if wait_s is None or attempt == MOST_RETRIES:
                break
            await asyncio.sleep(wait_s)
        else:
            raise AssertionError("unreachable")
        if _wait(exchange) is not None and exchange.status == 429:
            self.record.missing[key] = f"the server limits the rate (429 {MOST_RETRIES + 1} times); use --concurrency 1"
        else:
            self.record.exchanges[key] = exchange
        self.progress(self.record)

    def _stop(self, scenario: Scenario, wanted: StopFrom) -> str | None:
        """A piece of the earlier answer that first stands in its middle, not at its start."""
        exchange = self.record.exchanges.get((scenario.id, wanted.step))
        text = exchange.content() if exchange is not None else None
        if not text:
            return None
        for start in range(len(text) // 2, len(text) - wanted.length):
            piece = text[start : start + wanted.length]
            if piece.strip() and text.find(piece) == start:
                return piece
        return None

    def _afford(self) -> bool:
        spent_s = time.monotonic() - self._started_s
        if self.budget.max_requests is not None and self.record.requests >= self.budget.max_requests:
            self.record.exhausted = f"--max-requests {self.budget.max_requests}"
        elif self.budget.max_time_s is not None and spent_s >= self.budget.max_time_s:
            self.record.exhausted = f"--max-time {self.budget.max_time_s:g}"
        return self.record.exhausted is None

    def _call(self, scenario: Scenario, step: Step, stop: str | None) -> Call:
        headers = {"Content-Type": JSON_TYPE} if step.method == "POST" else {}
        headers.update(step.headers)
        if step.credentials == "wrong":
            headers["Authorization"] = f"Bearer {WRONG_KEY}"
        elif step.credentials == "misplaced":
            headers["Authorization"] = WRONG_KEY
        return Call(
            id=f"{scenario.id}/{step.name}",
            scenario=scenario.id,
            step=step.name,
            method=step.method,
            url=self._url(step),
            headers=headers,
            body=step.payload(self.model, stop),
            stop_after_events=step.stop_after_events,
            deadline_s=self._deadline_s(),
            with_key=step.credentials == "given",
        )

    def _url(self, step: Step) -> str:
        if step.path is None:
            return self.target.chat_url
        return self.target.models_url if step.path == "models" else self.target.base + step.path

    def _deadline_s(self) -> float:
        if self.budget.max_time_s is None:
            return self.budget.deadline_s
        left_s = self.budget.max_time_s - (time.monotonic() - self._started_s)
        return max(0.1, min(self.budget.deadline_s, left_s))


def _wait(exchange: Exchange) -> float | None:
    """Seconds that the server asks to wait; None when it does not."""
    if exchange.status not in BUSY:
        return None
    asked = exchange.header("retry-after")
    if asked is None:
        return 1.0 if exchange.status == 429 else None
    return min(float(asked), LONGEST_WAIT_S) if asked.strip().isdigit() else LONGEST_WAIT_S
