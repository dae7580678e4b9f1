"""Decide when the steps of a scenario are sent, and how many at the same time.

Most scenarios are sent as soon as there is a free slot. The rounds of spread scenarios are sent before all other
scenarios, between them, and after them.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from conformance.run.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Sequence
    from contextlib import AbstractAsyncContextManager

    from conformance.scenario import Scenario, Step

SendStep: TypeAlias = "Callable[[Step], Coroutine[Any, Any, None]]"
"""Sends one step of a scenario and records what resulted."""
ROUND_SHARE: Final = 4
"""A scenario with rounds may use one in this many of the slots."""
USUAL_SHARE: Final = 0.7
"""Trials end early, so that a run sends about this share of the requests that its plan allows."""


class StepScheduler:
    """Shares `concurrency` slots among the scenarios of a run.

    The steps of a scenario go out one after another in one slot, with these exceptions: `together` scenarios take a
    slot for each step and go out at once, `alone` scenarios take all slots, `crowd` steps go out at once after the
    others, and the steps of a round use up to a quarter of the slots.
    """

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._slots = Slots(concurrency)
        self._disconnecting = asyncio.Lock()

    def serialize(self, scenario: Scenario) -> AbstractAsyncContextManager[Any]:
        """Return a context in which no other scenario runs whose client disconnects, if this scenario's client does.

        The load that abandoned requests leave on a server would otherwise distort what another scenario measures.
        """
        return self._disconnecting if scenario.disconnects else nullcontext()

    def next_slot(self) -> AbstractAsyncContextManager[None]:
        """Return a context that holds the next slot that becomes free."""
        return self._slots.acquire(1, prioritized=True)

    def all_slots(self) -> AbstractAsyncContextManager[None]:
        """Return a context in which nothing else is sent."""
        return self._slots.acquire(self._concurrency, prioritized=True)

    def send_one_by_one(self) -> None:
        """Send no step while another is in flight from now on, except those of `together` scenarios and crowds."""
        self._slots.one_by_one = True

    async def send_steps(self, scenario: Scenario, send: SendStep) -> None:
        """Send all steps of a scenario without rounds."""
        # Scenarios whose clients disconnect have already waited for one another; queueing again would make them last.
        prioritized = scenario.disconnects
        if scenario.together:
            # More steps than slots go out at the same time all the same; then nothing else does.
            slots = min(len(scenario.steps), self._concurrency)
            async with self._slots.acquire(slots, prioritized=prioritized), asyncio.TaskGroup() as group:
                for step in scenario.steps:
                    group.create_task(send(step))
        else:
            slots = self._concurrency if scenario.alone else 1
            async with self._slots.acquire(slots, prioritized=prioritized):
                for step in scenario.steps:
                    if not step.crowd:
                        await send(step)
                async with asyncio.TaskGroup() as group:
                    for step in scenario.steps:
                        if step.crowd:
                            group.create_task(send(step))

    async def send_round(self, scenario: Scenario, steps: Sequence[Step], send: SendStep) -> None:
        """Send the steps of one round. Rounds wait for each other and take the longest, so they are prioritized."""
        if scenario.alone:
            async with self.all_slots():
                for step in steps:
                    await send(step)
            return
        remaining = iter(steps)

        async def send_remaining() -> None:
            for step in remaining:
                async with self._slots.acquire(1, prioritized=True):
                    await send(step)

        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, self._concurrency // ROUND_SHARE)):
                group.create_task(send_remaining())


class SpreadRounds:
    """The rounds of spread scenarios that are still to be sent, each with the number of requests after which it is due.

    The first round is due at once. The last is due only when everything else has been sent.
    """

    def __init__(self, scenarios: Collection[Scenario]) -> None:
        usual = USUAL_SHARE * sum(len(scenario.steps) for scenario in scenarios if not scenario.spread)
        self._waiting: list[tuple[float, Scenario, tuple[Step, ...]]] = []
        for scenario in scenarios:
            if scenario.spread:
                rounds = [tuple(steps) for _, steps in groupby(scenario.steps, key=lambda step: step.round)]
                between = usual / max(1, len(rounds) - 1)
                self._waiting += [(between * number, scenario, steps) for number, steps in enumerate(rounds[:-1])]
                self._waiting.append((float("inf"), scenario, rounds[-1]))

    def take_due(self, sent: int) -> list[tuple[Scenario, Step]]:
        """Remove and return the steps that are due after this number of requests."""
        due = [item for item in self._waiting if item[0] <= sent]
        self._waiting = [item for item in self._waiting if item[0] > sent]
        return [(scenario, step) for _, scenario, steps in due for step in steps]

    def take_last(self) -> tuple[list[tuple[Scenario, Step]], list[tuple[Scenario, Step]]]:
        """Remove all steps that are left, and return those of the last rounds, and those of rounds never due."""
        last = [(scenario, step) for at, scenario, steps in self._waiting if at == float("inf") for step in steps]
        others = [(scenario, step) for at, scenario, steps in self._waiting if at != float("inf") for step in steps]
        self._waiting = []
        return last, others
