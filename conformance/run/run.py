"""Run: sends a plan's requests, concurrently and inside a budget, and keeps what came back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import quote

from conformance.check import NoOccasion, NotObserved
from conformance.client.call import Call
from conformance.errors import HarnessError
from conformance.exchange import Exchange
from conformance.judge.rounds import DECIDED, pending
from conformance.run.budget import Allowance
from conformance.run.slots import Places

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.check import Check
    from conformance.client.client import Client
    from conformance.client.secret import Alteration
    from conformance.plan.plan import Plan
    from conformance.scenario import Scenario, Step, StopFrom
    from openapi.address import Target
    from openapi.contract.contract import Contract

JSON_TYPE = "application/json"
BUSY = (429, 503)  # the server asks to wait: no verdict on it
MOST_RETRIES = 3
LONGEST_WAIT_S = 20.0
SHARE = 4  # a scenario of rounds may have one in so many of the places
WRONG_KEY = "chatproof-wrong-key-0000000000000000"


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a run. None: no limit. `rate` is requests per second, `deadline_s` the most that one exchange may
    take, all of it.
    """

    max_requests: int | None = None
    max_tokens: int | None = None
    max_time_s: float | None = None
    rate: float | None = None
    deadline_s: float = 120.0
    concurrency: int = 4


@dataclass(slots=True)
class Record:
    """What came of a plan: exchanges by (scenario, step), and why others were not made.

    `exhausted` is set by what ends a run early: a limit of ours, or a server that lets nobody in. `retries` counts
    what was sent again because the server asked to wait, `waited_s` how long that took, summed over all requests.
    """

    exchanges: dict[tuple[str, str], Exchange] = field(default_factory=dict)
    missing: dict[tuple[str, str], NotObserved] = field(default_factory=dict)
    exhausted: str | None = None
    requests: int = 0
    tokens: int = 0
    retries: int = 0
    waited_s: float = 0.0


Made = Mapping[tuple[object, ...], Mapping[int, Exchange]]
"""Exchanges of an earlier plan: what a scenario sent -> its exchanges by the place of their step."""


def made(plan: Plan, record: Record, model: str) -> Made:
    """What an earlier run has made already, for another plan over the same server."""
    found: dict[tuple[object, ...], dict[int, Exchange]] = {}
    for scenario in plan.scenarios:
        exchanges = [record.exchanges.get((scenario.id, step.name)) for step in scenario.steps]
        whole = {place: exchange for place, exchange in enumerate(exchanges) if exchange is not None}
        if all(place in whole for place, step in enumerate(scenario.steps) if step.round <= 1):
            found.setdefault(scenario.sends(model), whole)
    return found


class Run:
    """Sends one plan to one target. `progress` is called after every exchange.

    `before`: exchanges that an earlier plan made; a scenario that sends the same is not sent again. `prefix` tells
    the exchanges of this run from that one's.
    """

    def __init__(
        self,
        plan: Plan,
        client: Client,
        target: Target,
        contract: Contract,
        model: str,
        budget: Budget,
        progress: Callable[[Record], None] = lambda _: None,
        before: Made | None = None,
        prefix: str = "",
    ) -> None:
        self.plan = plan
        self.client = client
        self.target = target
        self.contract = contract
        self.model = model
        self.budget = budget
        self.progress = progress
        self.record = Record()
        self._before = before or {}
        self._prefix = prefix
        self._places = Places(budget.concurrency)
        self._allowance = Allowance(budget, self.record)
        self._leaving = asyncio.Lock()
        self._checks: dict[str, dict[str, Check]] = {}
        for assertion in plan.assertions:
            if assertion.scenario.rounds:
                self._checks.setdefault(assertion.scenario.id, {})[assertion.check.id] = assertion.check

    async def execute(self) -> Record:
        """Sends every scenario, `concurrency` exchanges at a time, and returns the record.

        Steps that belong together go out together even where they are more than that; then nothing else does.
        Cancelling it leaves the record as far as it came.
        """
        try:
            async with asyncio.TaskGroup() as group:
                # The longest first: a conversation of many steps that starts last would keep all others waiting.
                for scenario in sorted(self.plan.scenarios, key=lambda each: -len(each.steps)):
                    group.create_task(self._scenario(scenario))
        except BaseExceptionGroup as errors:  # not `except*`, which would wrap what is raised here in a group again
            ours = errors.subgroup(HarnessError)
            if ours is None:
                raise
            raise _first(ours) from None
        return self.record

    async def _scenario(self, scenario: Scenario) -> None:
        if self._before and (known := self._before.get(scenario.sends(self.model))):
            for place, exchange in known.items():
                self.record.exchanges[scenario.id, scenario.steps[place].name] = exchange
            self._decided(scenario, [step for place, step in enumerate(scenario.steps) if place not in known])
            return
        # What a server suffers from clients that left would fall into another scenario's measure of it.
        async with self._leaving if scenario.leaves else nullcontext():
            await self._sent(scenario)

    async def _sent(self, scenario: Scenario) -> None:
        # Scenarios whose clients leave have waited for one another already, and would come last if they queued as well.
        ahead = scenario.leaves
        if scenario.together:
            async with (
                self._places.taken(min(len(scenario.steps), self.budget.concurrency), ahead=ahead),
                asyncio.TaskGroup() as group,
            ):
                for step in scenario.steps:
                    group.create_task(self._step(scenario, step))
        elif scenario.rounds:
            for number, steps in groupby(scenario.steps, key=lambda step: step.round):
                await self._round(scenario, number, list(steps))
        else:
            async with self._places.taken(self.budget.concurrency if scenario.alone else 1, ahead=ahead):
                for step in scenario.steps:
                    await self._step(scenario, step)

    async def _round(self, scenario: Scenario, number: int, steps: list[Step]) -> None:
        """The steps of one round, some at a time; of a later one, those that an undecided trial needs."""
        if number > 1:
            exchanges = self.record.exchanges
            made = {
                step.name: exchanges[key] for step in scenario.steps if (key := (scenario.id, step.name)) in exchanges
            }
            wanted = pending(self._checks.get(scenario.id, {}).values(), scenario, made)
            self._decided(scenario, [step for step in steps if step.part not in wanted])
            steps = [step for step in steps if step.part in wanted]
        if scenario.alone:
            async with self._places.taken(self.budget.concurrency, ahead=True):
                for step in steps:
                    await self._step(scenario, step)
            return
        left = iter(steps)

        async def send() -> None:
            for step in left:
                async with self._places.taken(1, ahead=True):  # rounds wait for each other: nothing takes longer
                    await self._step(scenario, step)

        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, self.budget.concurrency // SHARE)):
                group.create_task(send())

    def _decided(self, scenario: Scenario, steps: list[Step]) -> None:
        for step in steps:
            self.record.missing[scenario.id, step.name] = NoOccasion(DECIDED)

    async def _step(self, scenario: Scenario, step: Step) -> None:
        key = (scenario.id, step.name)
        stop = None
        if _alteration(step) and not self.client.has_altered_keys:
            self.record.missing[key] = NoOccasion("no key was given, or one too short to be altered")
            return
        if step.stop_from is not None:
            stop = self._stop(scenario, step.stop_from)
            if stop is None:
                self.record.missing[key] = self._no_stop(scenario, step.stop_from)
                return
        exchange = await self._exchange(scenario, step, stop)
        if exchange is None:
            self.record.missing[key] = NotObserved(f"the run ended early ({self.record.exhausted})")
        else:
            self.record.exchanges[key] = exchange
        self.progress(self.record)

    async def _exchange(self, scenario: Scenario, step: Step, stop: str | list[str] | None) -> Exchange | None:
        """Sends one request, again when the server asks to wait. None when the run ends before there is an answer."""
        allowance = self._allowance
        for attempt in range(MOST_RETRIES + 1):
            await allowance.turn()
            if not allowance.afford(step.tokens):
                return None
            call = self._call(scenario, step, stop)
            exchange = await self._send(call, step.tokens)
            if _timed_out(exchange) and call.deadline_s < self.budget.deadline_s:
                self.record.exhausted = allowance.out_of_time()  # ours: the server might have answered yet
                return None
            wait_s = _wait(exchange, attempt)
            if wait_s is None:
                return exchange
            if attempt < MOST_RETRIES:
                wait_s = min(wait_s, allowance.left_s())
                self.record.retries += 1
                self.record.waited_s += wait_s
                await asyncio.sleep(wait_s)
        if exchange.status == 429:
            self.record.exhausted = f"the server limits the rate: 429 to {MOST_RETRIES + 1} tries of one request"
            return None
        return exchange

    async def _send(self, call: Call, tokens: int) -> Exchange:
        """Sends one request and notes what it cost."""
        self._allowance.reserve(tokens)
        exchange = None
        try:
            exchange = await self.client.send(call)
        finally:
            self._allowance.settle(tokens, exchange)
        return exchange

    def _stop(self, scenario: Scenario, wanted: StopFrom) -> str | list[str] | None:
        """A piece of the earlier answer that first stands where it is wanted."""
        exchange = self.record.exchanges.get((scenario.id, wanted.step))
        text = exchange.content() if exchange is not None else None
        return wanted.cut(text) if text else None

    def _no_stop(self, scenario: Scenario, wanted: StopFrom) -> NotObserved:
        exchange = self.record.exchanges.get((scenario.id, wanted.step))
        if exchange is None or not exchange.succeeded:
            return NotObserved(f"step {wanted.step!r} was not answered")
        return NoOccasion(f"the answer to step {wanted.step!r} is too short to take a stop text from")

    def _call(self, scenario: Scenario, step: Step, stop: str | list[str] | None) -> Call:
        typed = "content-type" in {name.lower() for name in step.headers}
        headers = {"Content-Type": JSON_TYPE} if step.method == "POST" and not typed else {}
        headers.update(step.headers)
        if step.credentials == "wrong":
            headers["Authorization"] = f"Bearer {WRONG_KEY}"
        elif step.credentials == "misplaced":
            headers["Authorization"] = WRONG_KEY
        return Call(
            id=f"{self._prefix}{scenario.id}/{step.name}",
            scenario=scenario.id,
            step=step.name,
            method=step.method,
            url=self._url(step),
            headers=headers,
            body=step.payload(self.model, stop),
            stop_after_events=step.stop_after_events,
            deadline_s=self._allowance.deadline_s(),
            with_key=step.credentials not in ("none", "wrong", "misplaced"),
            scheme="bearer" if step.credentials == "lower-case" else "Bearer",
            line=scenario.id if scenario.one_connection else None,
            alteration=_alteration(step),
        )

    def _url(self, step: Step) -> str:
        path = (step.path or "chat").replace("{model}", quote(self.model, safe=""))
        for name, url in (("chat", self.target.chat_url), ("models", self.target.models_url)):
            if path.startswith(name):
                return url + path.removeprefix(name)
        return self.target.base + path


def _first(errors: BaseExceptionGroup[HarnessError]) -> HarnessError:
    """The first leaf of a tree of exceptions."""
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


def _alteration(step: Step) -> Alteration | None:
    """How the key is altered for a step."""
    found = step.credentials
    return found if found in ("other-end", "shorter", "longer") else None


def _timed_out(exchange: Exchange) -> bool:
    return exchange.failure is not None and exchange.failure.kind == "timeout"


def _wait(exchange: Exchange, attempt: int) -> float | None:
    """Seconds that the server asks to wait; None when it does not. A 429 without a time doubles it each time."""
    if exchange.status not in BUSY:
        return None
    asked = exchange.header("retry-after")
    if asked is None:
        return 2.0**attempt if exchange.status == 429 else None
    return min(float(asked), LONGEST_WAIT_S) if asked.isascii() and asked.isdigit() else LONGEST_WAIT_S
