"""Failures of the model end all running requests, but rarely the engine."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine import Delta, EngineError, Unavailable
from reference_server.engine.loop.restarts import RestartPolicy
from reference_server.engine.model.runner import Runner
from reference_server.tests.engine.loop.collection import GREEDY, PATIENCE_S, collect

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.device import torch
    from reference_server.engine.loop.local_engine import LocalEngine

NO_PAUSE_S = 0.0


async def until_alive(engine: LocalEngine) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not engine.alive:
            await asyncio.sleep(0.001)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.001)


async def until_dead(engine: LocalEngine) -> None:
    await until(lambda: engine.dead)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make a method raise errors, one per call; None means no error."""

    def script(part: Any, method: str, *errors: Exception | None) -> None:
        original, remaining = getattr(part, method), list(errors)

        def scripted(*arguments: Any) -> Any:
            error = remaining.pop(0) if remaining else None
            if error is not None:
                raise error
            return original(*arguments)

        monkeypatch.setattr(part, method, scripted)

    return script


class TestRestartPolicy:
    """The number of restarts, and the pauses in front of them."""

    def test_pauses_double_until_the_limit(self) -> None:
        restarts = RestartPolicy(max_restarts=3, pause_s=0.5)
        assert [restarts.schedule_restart(now) for now in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, None]

    def test_restarts_outside_the_window_do_not_count(self) -> None:
        restarts = RestartPolicy(max_restarts=2, window_s=10, pause_s=1)
        assert [restarts.schedule_restart(now) for now in (0, 5, 9, 10, 11, 15)] == [1, 2, None, 2, None, 2]


class TestModelFailure:
    """If the model fails, all running requests fail, but the engine continues."""

    def test_running_requests_fail_and_the_next_request_succeeds(
        self, load_engine: Callable[..., LocalEngine], failing: Callable[..., None], caplog: pytest.LogCaptureFixture
    ) -> None:
        engine = load_engine(slots=2, restarts=RestartPolicy(pause_s=NO_PAUSE_S))
        expected = asyncio.run(collect(engine, [1] * 30))
        failing(engine._runner, "decode", None, RuntimeError("device lost"))

        async def scenario() -> None:
            lost = await asyncio.gather(*(collect(engine, [number] * 30) for number in range(5)))
            assert [str(error) for error in lost] == ["the engine died: RuntimeError: device lost"] * 5
            await until_alive(engine)
            assert await collect(engine, [1] * 30) == expected

        asyncio.run(scenario())
        assert "restarts" in caplog.text
        assert (engine._driver.generations, engine._driver.scheduler.free_slots) == ({}, 2)

    def test_the_cache_is_not_reused_after_a_failure(
        self, load_engine: Callable[..., LocalEngine], failing: Callable[..., None]
    ) -> None:
        engine = load_engine(slots=2, restarts=RestartPolicy(pause_s=NO_PAUSE_S))
        failing(engine._runner, "decode", RuntimeError("device lost"))

        async def scenario() -> list[Delta]:
            await collect(engine, [1] * 30)
            await until_alive(engine)
            assert isinstance(engine._runner, Runner)
            for stored in (*engine._runner._cache.keys, *engine._runner._cache.values):
                assert not stored.any()
            return [delta async for delta in engine.submit([1] * 40, GREEDY)]

        assert [delta.cached_tokens for delta in asyncio.run(scenario())] == [0] * 5

    def test_too_many_failures_end_the_engine(
        self, load_engine: Callable[..., LocalEngine], failing: Callable[..., None]
    ) -> None:
        engine = load_engine(restarts=RestartPolicy(max_restarts=2, pause_s=NO_PAUSE_S))
        failing(engine._runner, "prefill", *[RuntimeError("device lost")] * 3)

        async def scenario() -> None:
            for _ in range(3):
                await until_alive(engine)
                assert isinstance(await collect(engine, [1]), EngineError)
            await until_dead(engine)
            with pytest.raises(Unavailable, match="device lost"):
                engine.submit([1], GREEDY)

        asyncio.run(scenario())

    def test_a_failed_reset_counts_as_a_failure(
        self, load_engine: Callable[..., LocalEngine], failing: Callable[..., None]
    ) -> None:
        engine = load_engine(restarts=RestartPolicy(max_restarts=2, pause_s=NO_PAUSE_S))
        failing(engine._runner, "decode", RuntimeError("device lost"))
        failing(engine._runner, "reset", *[RuntimeError("device lost")] * 2)

        async def scenario() -> None:
            await collect(engine, [1])
            await until_dead(engine)

        asyncio.run(scenario())

    def test_close_does_not_wait_for_a_restart(
        self, load_engine: Callable[..., LocalEngine], failing: Callable[..., None]
    ) -> None:
        engine = load_engine(restarts=RestartPolicy(pause_s=1e6))
        failing(engine._runner, "decode", RuntimeError("device lost"))
        assert isinstance(asyncio.run(collect(engine, [1])), EngineError)
        assert not engine.dead
        engine.close()
        assert engine.dead

    def test_a_hung_step_ends_the_engine(
        self, load_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = load_engine(hang_s=0.05)
        released = threading.Event()
        decode = engine._runner.decode

        def hanging(*arguments: Any) -> torch.Tensor:
            released.wait(PATIENCE_S)
            return decode(*arguments)

        monkeypatch.setattr(engine._runner, "decode", hanging)

        async def scenario() -> None:
            generation = engine.submit([1], GREEDY)
            await anext(generation)
            await until_dead(engine)
            await asyncio.to_thread(engine.close)
            with pytest.raises(EngineError, match="hangs"):
                await anext(generation)
            with pytest.raises(Unavailable):
                engine.submit([1], GREEDY)

        try:
            asyncio.run(scenario())
        finally:
            released.set()

    def test_an_engine_is_not_alive_while_a_step_takes_much_longer_than_any_before(
        self, load_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = load_engine(stall_s=0.05)
        assert isinstance(asyncio.run(collect(engine, [1])), list)
        released = threading.Event()
        decode = engine._runner.decode

        def hanging(*arguments: Any) -> torch.Tensor:
            released.wait(PATIENCE_S)
            return decode(*arguments)

        async def scenario() -> None:
            monkeypatch.setattr(engine._runner, "decode", hanging)
            generation = engine.submit([1], GREEDY)
            await anext(generation)
            await until(lambda: not engine.alive)
            assert not engine.dead
            released.set()
            await until(lambda: engine.alive)
            generation.cancel()

        try:
            asyncio.run(scenario())
        finally:
            released.set()

    def test_a_hung_step_is_reported_within_ten_seconds(self, engine: LocalEngine) -> None:
        assert engine._driver._stall_s < 10

    def test_an_engine_with_slow_steps_stays_alive_during_a_slow_step(self, engine: LocalEngine) -> None:
        driver = engine._driver
        driver._longest_step_s = 30.0
        driver._step_started_s = time.monotonic() - 60.0
        assert engine.alive
        driver._step_started_s = None

    def test_the_preparation_of_a_pass_is_no_part_of_a_step(
        self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        driver, now_s = engine._driver, time.monotonic()
        with engine._runner.preparation:
            driver._step_started_s = driver._working_s
            monkeypatch.setattr(time, "monotonic", lambda: now_s + 1000)
            assert (True, False) == (engine.alive, engine.dead)
            monkeypatch.setattr(time, "monotonic", lambda: now_s + 4000)
            assert (False, True) == (engine.alive, engine.dead)
        assert (True, False) == (engine.alive, engine.dead)
        monkeypatch.setattr(time, "monotonic", lambda: now_s + 4020)
        assert (False, False) == (engine.alive, engine.dead)
        driver._step_started_s = None
