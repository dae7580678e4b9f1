"""The pulse: a client that was held up says so, and then nobody is blamed for what seems to have come at once."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.client.event_loop_lag import LONG_S, Pulse
from conformance.proof.mutants.stream.transport import events_arrive_at_once
from conformance.tests.raw_server import ask, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import Good

LONG_STREAM = ("long-stream", "main")


def test_an_exchange_tells_how_long_the_client_did_not_run() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        time.sleep(0.6)
        writer.write(whole(b"{}"))
        await writer.drain()

    response = ask(handle).response
    assert response is not None
    assert response.held_up_s > 0.5


def test_a_hold_up_counts_for_what_was_under_way_and_while_it_lasts() -> None:
    async def run() -> list[bool]:
        pulse = Pulse()
        pulse.begin()
        await asyncio.sleep(0)
        before = time.perf_counter()
        time.sleep(3 * LONG_S)
        seen = [pulse.longest_s(before) > 0]
        await asyncio.sleep(LONG_S / 10)  # a beat
        seen += [pulse.longest_s(before) > 0, pulse.longest_s(time.perf_counter() + 1) > 0]
        pulse.end()
        return seen

    assert asyncio.run(run()) == [True, True, False]


@pytest.mark.parametrize(("held_up_s", "expected"), [(0.0, 1), (0.6, 0)])
def test_events_at_once_are_blamed_on_the_server_only_if_the_client_ran(
    read_good: Callable[[str], Good], held_up_s: float, expected: int
) -> None:
    good = read_good("mindie-2.3")
    changed = events_arrive_at_once.change(good.exchanges[LONG_STREAM])
    assert changed.response is not None
    changed = replace(changed, response=replace(changed.response, held_up_s=held_up_s))
    assertions = [each for each in good.of("stream.arrives-bit-by-bit") if each.scenario.id == LONG_STREAM[0]]
    (found,) = good.judge({LONG_STREAM: changed}, assertions)
    assert expected == len(found.findings)
