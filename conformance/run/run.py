"""Send the scenarios of a plan to a server, and record the exchanges."""

from __future__ import annotations

import asyncio
from itertools import groupby
from typing import TYPE_CHECKING

from conformance.check import NotExercised, NotObserved
from conformance.errors import HarnessError
from conformance.judge.evidence.liveness import explain_unsent
from conformance.judge.evidence.requested_schema import fits_its_schema
from conformance.judge.rounds import ACCEPTED, DECIDED
from conformance.record import Record
from conformance.run.calls import continue_conversation, cut_stop, explain_no_stop, key_alteration
from conformance.run.failures.second_tries import SecondTries
from conformance.run.saved_requests import Trials
from conformance.run.scheduler import SpreadRounds, StepScheduler
from conformance.run.sender import Sender

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from conformance.exchange import Exchange
    from conformance.plan.plan import Plan
    from conformance.record import BudgetLimits
    from conformance.run.calls import ServerUnderTest
    from conformance.run.failures.canary import Canary
    from conformance.run.saved_requests import ReusableExchanges
    from conformance.scenario import Scenario, Step


class Run:
    """Sends one plan to one server. `on_progress` is called after every exchange.

    A scenario that sends the same as one in `reusable` is not sent again. `id_prefix` tells the exchanges of this run
    from those of another run in the same report. `canary` finds out whether the server still answers.
    """

    def __init__(
        self,
        plan: Plan,
        server: ServerUnderTest,
        limits: BudgetLimits,
        *,
        on_progress: Callable[[Record], None] = lambda _: None,
        reusable: ReusableExchanges | None = None,
        id_prefix: str = "",
        canary: Canary | None = None,
    ) -> None:
        self.record = Record()
        self._plan = plan
        self._server = server
        self._on_progress = on_progress
        self._reusable = reusable or {}
        self._scheduler = StepScheduler(limits.concurrency)
        self._sender = Sender(server, limits, self.record, id_prefix)
        self._trials = Trials(plan)
        self._requests = {
            scenario.id: tuple((scenario.id, step.name) for step in scenario.steps) for scenario in plan.scenarios
        }
        self._spread = SpreadRounds(plan.scenarios)
        self._canary = canary
        self._second_tries = SecondTries()
        self._in_flight = 0

    async def execute(self) -> Record:
        """Send every scenario, `concurrency` exchanges at a time, and return the record.

        If it is cancelled, `record` holds what was done until then.
        """
        if self._canary is not None and self._canary.is_due_first:
            await self._canary.check(self.record, self._send_canary)
        await self._send_due()
        scenarios = [scenario for scenario in self._plan.scenarios if not scenario.spread]
        shared = {scenario.unless_answered for scenario in scenarios}
        try:
            await self._run_scenarios(scenario for scenario in scenarios if scenario.id in shared)
            await self._run_scenarios(scenario for scenario in scenarios if scenario.id not in shared)
        except BaseExceptionGroup as errors:  # not `except*`, which would wrap what is raised here in a group again
            ours = errors.subgroup(HarnessError)
            if ours is None:
                raise
            raise _first(ours) from None
        await self._send_failed_again()
        await self._send_last()
        if self._canary is not None:
            await self._canary.finish(self.record, self._send_canary)
        return self.record

    async def _run_scenarios(self, scenarios: Iterable[Scenario]) -> None:
        async with asyncio.TaskGroup() as group:
            # The longest first: a scenario of many steps that starts last would delay the end of the run.
            for scenario in sorted(scenarios, key=lambda scenario: -len(scenario.steps)):
                group.create_task(self._run_scenario(scenario))

    async def _run_scenario(self, scenario: Scenario) -> None:
        if self._is_shown(scenario):
            self._skip(scenario, scenario.steps, ACCEPTED)
            return
        if self._reusable and (exchanges := self._reusable.get(scenario.request_key(self._server.model))):
            self._reuse(scenario, exchanges)
            return
        async with self._scheduler.serialize(scenario):
            if scenario.rounds and not scenario.together:
                await self._run_rounds(scenario)
            else:
                await self._scheduler.send_steps(scenario, lambda step: self._run_step(scenario, step))
        if self._canary is not None and self._canary.is_due(self.record):
            await self._canary.check(self.record, self._send_canary)
        if self._second_tries.is_due:
            await self._send_failed_again()
        await self._send_due()

    async def _send_due(self) -> None:
        """Send the rounds of spread scenarios that are due."""
        for scenario, step in self._spread.take_due(self.record.requests):
            async with self._scheduler.next_slot():
                await self._run_step(scenario, step)

    async def _send_last(self) -> None:
        """Send the last round of each spread scenario."""
        last, left = self._spread.take_last()
        for scenario, step in left:
            self.record.missing[scenario.id, step.name] = NotExercised("the run was too short for another round")
        for scenario, step in last:
            await self._run_step(scenario, step)

    async def _send_canary(self, scenario: Scenario, step: Step) -> Exchange | None:
        async with self._scheduler.next_slot():
            return await self._sender.send(scenario, step, None)

    async def _send_failed_again(self) -> None:
        """Send again alone what failed among others. If load was the reason, the rest of the run is sent one by one."""
        async with self._scheduler.all_slots():
            await self._second_tries.send(self.record, self._send_alone)
        if self._second_tries.answered:
            self._scheduler.send_one_by_one()

    async def _send_alone(self, scenario: Scenario, step: Step) -> Exchange | None:
        exchange = await self._sender.send(scenario, step, None)
        self._on_progress(self.record)
        return exchange

    def _reuse(self, scenario: Scenario, exchanges: Mapping[int, Exchange]) -> None:
        for position, exchange in exchanges.items():
            self.record.exchanges[scenario.id, scenario.steps[position].name] = exchange
        self._skip(scenario, (step for position, step in enumerate(scenario.steps) if position not in exchanges))

    async def _run_rounds(self, scenario: Scenario) -> None:
        """Send round after round; of every round after the first, only the steps that an undecided trial needs."""
        for number, group in groupby(scenario.steps, key=lambda step: step.round):
            steps = needed = list(group)
            if number > 1:
                needed = self._trials.select_needed(scenario, steps, self.record.exchanges)
                self._skip(scenario, (step for step in steps if step not in needed))
            await self._scheduler.send_round(scenario, needed, lambda step: self._run_step(scenario, step))

    def _is_shown(self, scenario: Scenario) -> bool:
        """Return whether requests that were answered as demanded show the same as a scenario."""
        exchanges = [self.record.exchanges.get(key) for key in self._requests.get(scenario.unless_answered, ())]
        answered = [exchange for exchange in exchanges if exchange and exchange.succeeded and fits_its_schema(exchange)]
        return bool(exchanges) and len(answered) == len(exchanges)

    def _skip(self, scenario: Scenario, steps: Iterable[Step], reason: str = DECIDED) -> None:
        for step in steps:
            self.record.missing[scenario.id, step.name] = NotExercised(reason)

    async def _run_step(self, scenario: Scenario, step: Step) -> None:
        """Send one step, and record its exchange or the reason why it has none."""
        key, record = (scenario.id, step.name), self.record
        if key_alteration(step) and not self._server.client.has_altered_keys:
            record.missing[key] = NotExercised("the API key is missing or too short to be altered")
            return
        stop = None
        if step.stop_from is not None:
            stop = cut_stop(scenario, step.stop_from, record.exchanges)
            if stop is None:
                record.missing[key] = explain_no_stop(scenario, step.stop_from, record.exchanges)
                return
        if step.continues is not None:
            continued = continue_conversation(step, record.exchanges.get((scenario.id, step.continues)))
            if isinstance(continued, NotObserved):
                record.missing[key] = continued
                return
            step = continued
        exchange, was_alone = await self._send_counted(scenario, step, stop)
        if exchange is None:
            record.missing[key] = NotObserved(explain_unsent(record.exhausted))
        else:
            record.exchanges[key] = exchange
            if self._canary is not None:
                self._canary.note(key, exchange)
            if not was_alone:
                self._second_tries.note(scenario, step, exchange)
        self._on_progress(record)

    async def _send_counted(
        self, scenario: Scenario, step: Step, stop: str | list[str] | None
    ) -> tuple[Exchange | None, bool]:
        """Send a step. Return its exchange, and whether no other was in flight when it began and ended."""
        was_alone = not self._in_flight
        self._in_flight += 1
        try:
            exchange = await self._sender.send(scenario, step, stop)
        finally:
            self._in_flight -= 1
        return exchange, was_alone and not self._in_flight


def _first(errors: BaseExceptionGroup[HarnessError]) -> HarnessError:
    """Return the first leaf of a tree of exceptions."""
    first = errors.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
