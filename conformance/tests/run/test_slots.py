"""Slots are limited in number, granted in order, and not lost when a task is cancelled."""

from __future__ import annotations

import asyncio

import pytest

from conformance.run.slots import Slots


def list_holders(*requests: tuple[str, int, bool], slots: int = 4) -> list[list[str]]:
    """Return the tasks that hold slots at a time, if all ask at once and hold them for one iteration of the loop."""
    seen: list[list[str]] = []

    async def run() -> None:
        shared, holders = Slots(slots), set[str]()

        async def hold(name: str, number: int, prioritized: bool) -> None:
            async with shared.acquire(number, prioritized=prioritized):
                holders.add(name)
                seen.append(sorted(holders))
                await asyncio.sleep(0)
                holders.remove(name)

        async with asyncio.TaskGroup() as group:
            for request in requests:
                group.create_task(hold(*request))

    asyncio.run(run())
    return [names for names in seen if not any(set(names) < set(other) for other in seen)]


def test_several_slots_are_granted_at_once_and_in_order() -> None:
    assert list_holders(("a", 2, False), ("b", 4, False), ("c", 1, False)) == [["a"], ["b"], ["c"]]


def test_a_prioritized_request_is_granted_ahead_of_waiting_ones() -> None:
    assert list_holders(("a", 4, False), ("b", 4, False), ("c", 4, True)) == [["a"], ["c"], ["b"]]


@pytest.mark.parametrize("gone", [("holding",), ("waiting",), ("holding", "waiting")], ids=" and ".join)
def test_a_cancelled_task_releases_its_slots(gone: tuple[str, ...]) -> None:
    async def run() -> list[str]:
        shared, order = Slots(2), list[str]()

        async def hold(name: str, number: int, turns: int) -> None:
            async with shared.acquire(number):
                order.append(name)
                for _ in range(turns):
                    await asyncio.sleep(0)

        tasks = {
            name: asyncio.create_task(hold(name, number, turns))
            for name, number, turns in (("holding", 1, 9), ("waiting", 2, 9), ("last", 2, 1))
        }
        await asyncio.sleep(0)
        for name in gone:
            tasks[name].cancel()
        async with asyncio.timeout(10):
            await asyncio.wait(tasks.values())
        return order

    expected = ["holding", *(name for name in ("waiting", "last") if name not in gone)]
    assert expected == asyncio.run(run())
