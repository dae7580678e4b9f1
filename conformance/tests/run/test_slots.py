"""Places: never more than there are, in the order in which they were asked for, none lost to who goes away."""

from __future__ import annotations

import asyncio

import pytest

from conformance.run.slots import Slots


def entered(*wishes: tuple[str, int, bool], places: int = 4) -> list[list[str]]:
    """Who is in after each turn of the loop, when everybody asks at once and stays for one turn."""
    seen: list[list[str]] = []

    async def run() -> None:
        shared, inside = Slots(places), set[str]()

        async def visit(name: str, number: int, ahead: bool) -> None:
            async with shared.acquire(number, prioritized=ahead):
                inside.add(name)
                seen.append(sorted(inside))
                await asyncio.sleep(0)
                inside.remove(name)

        async with asyncio.TaskGroup() as group:
            for wish in wishes:
                group.create_task(visit(*wish))

    asyncio.run(run())
    return [each for each in seen if not any(set(each) < set(other) for other in seen)]


def test_who_wants_several_gets_them_at_once_and_in_his_turn() -> None:
    assert entered(("a", 2, False), ("b", 4, False), ("c", 1, False)) == [["a"], ["b"], ["c"]]


def test_who_goes_ahead_comes_before_who_waits() -> None:
    assert entered(("a", 4, False), ("b", 4, False), ("c", 4, True)) == [["a"], ["c"], ["b"]]


@pytest.mark.parametrize("gone", [("holding",), ("waiting",), ("holding", "waiting")], ids=" and ".join)
def test_who_is_cancelled_leaves_no_place_behind(gone: tuple[str, ...]) -> None:
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
