"""Cancellation of generations."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import threading
from typing import TYPE_CHECKING

from reference_server.tests.runs import ENDLESS, GREEDY, collect, run

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from reference_server.engine import Delta
    from reference_server.engine.device import torch
    from reference_server.engine.loop.local_engine import LocalEngine


class TestCancel:
    """A cancelled generation ends at once and frees its slot within one step."""

    def test_the_slot_is_free_within_one_step(
        self, load_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = load_engine(slots=1)
        cancelled = threading.Event()
        steps_after = itertools.count()
        decode = engine._runner.decode

        def recorded(tokens: list[int], positions: list[int], slots: list[int]) -> torch.Tensor:
            if cancelled.is_set():
                next(steps_after)
            return decode(tokens, positions, slots)

        monkeypatch.setattr(engine._runner, "decode", recorded)

        async def scenario() -> None:
            generation = engine.submit([1, 2], ENDLESS)
            await anext(generation)
            generation.cancel()
            cancelled.set()
            assert [delta async for delta in generation] == []
            second = await collect(engine, [3, 4], dataclasses.replace(GREEDY, max_tokens=1))
            assert len(second) == 1

        asyncio.run(scenario())
        assert next(steps_after) <= 1
        assert engine._driver.generations == {}
        assert engine._driver.scheduler.free_slots == 1

    def test_a_waiting_request_is_never_run(
        self, load_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = load_engine(slots=1)
        admitted: list[list[int]] = []
        prefill = engine._runner.prefill

        def recorded(pieces: list[list[int]], slots: list[int], starts: list[int]) -> torch.Tensor:
            admitted.extend(pieces)
            return prefill(pieces, slots, starts)

        monkeypatch.setattr(engine._runner, "prefill", recorded)

        async def scenario() -> None:
            first = asyncio.create_task(collect(engine, [1], GREEDY))
            await asyncio.sleep(0)
            waiting = engine.submit([2], GREEDY)
            waiting.cancel()
            waiting.cancel()
            await collect(engine, [3], GREEDY)
            await first

        asyncio.run(scenario())
        assert admitted == [[1], [3]]

    def test_a_waiting_reader_ends(self, engine: LocalEngine) -> None:
        async def scenario() -> list[Delta]:
            generation = engine.submit([1, 2], ENDLESS)

            async def read() -> list[Delta]:
                return [delta async for delta in generation]

            reader = asyncio.create_task(read())
            await asyncio.sleep(0)
            generation.cancel()
            return await reader

        assert asyncio.run(scenario()) == []

    def test_it_has_no_effect_after_the_end(self, engine: LocalEngine) -> None:
        async def scenario() -> list[Delta]:
            generation = engine.submit([1, 2], GREEDY)
            deltas = [delta async for delta in generation]
            generation.cancel()
            assert [delta async for delta in generation] == []
            return deltas

        assert len(asyncio.run(scenario())) == 40
        assert engine.alive

    def test_a_closed_loop_frees_its_slots(self, load_engine: Callable[..., LocalEngine]) -> None:
        engine = load_engine(slots=2)

        async def abandon() -> None:
            for _ in range(5):
                engine.submit([1, 2], ENDLESS)

        asyncio.run(abandon())
        assert len(run(engine, [1, 2], GREEDY)) == 40
