"""Event-loop lag: a stall of the client is recorded, and is not attributed to the server."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.client.event_loop_lag import SHORTEST_STALL_S, EventLoopLag
from conformance.proof.mutants.stream.transport import events_arrive_at_once
from conformance.tests.raw_server import ask, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import Good

LONG_STREAM = ("long-stream", "main")


def test_an_exchange_records_how_long_the_client_was_stalled() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        time.sleep(0.6)
        writer.write(whole(b"{}"))
        await writer.drain()

    response = ask(handle).response
    assert response is not None
    assert response.stalled_s > 0.5


def test_a_stall_counts_for_running_exchanges_and_while_it_lasts() -> None:
    async def run() -> list[bool]:
        lag = EventLoopLag()
        lag.start()
        await asyncio.sleep(0)
        before = time.perf_counter()
        time.sleep(3 * SHORTEST_STALL_S)
        seen = [lag.longest_stall_s(before) > 0]
        await asyncio.sleep(SHORTEST_STALL_S / 10)  # the timer runs
        seen += [lag.longest_stall_s(before) > 0, lag.longest_stall_s(time.perf_counter() + 1) > 0]
        lag.stop()
        return seen

    assert asyncio.run(run()) == [True, True, False]


@pytest.mark.takes_turns
@pytest.mark.parametrize(("stalled_s", "expected"), [(0.0, 1), (0.6, 0)])
def test_simultaneous_events_fail_only_if_the_client_was_not_stalled(
    read_good: Callable[[str], Good], stalled_s: float, expected: int
) -> None:
    good = read_good("mindie-2.3")
    changed = events_arrive_at_once.change(good.exchanges[LONG_STREAM])
    assert changed.response is not None
    changed = replace(changed, response=replace(changed.response, stalled_s=stalled_s))
    assertions = good.of("stream.arrives-bit-by-bit", LONG_STREAM[0])
    (judgement,) = good.judge({LONG_STREAM: changed}, assertions)
    assert expected == len(judgement.findings)
