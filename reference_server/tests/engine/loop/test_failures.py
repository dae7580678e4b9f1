"""Failures of an engine that cannot continue."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine import Delta, EngineError
from reference_server.engine.device import torch
from reference_server.tests.runs import GREEDY, collect, run

if TYPE_CHECKING:
    from reference_server.engine.loop.local_engine import LocalEngine


class TestFailure:
    """An engine that cannot continue fails all requests at once."""

    def test_every_generation_fails_and_no_more_are_accepted(
        self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def broken(*_: Any) -> torch.Tensor:
            raise RuntimeError("device lost")

        monkeypatch.setattr(engine._runner, "decode", broken)

        async def scenario() -> list[list[Delta] | BaseException]:
            requests = [collect(engine, [number], GREEDY) for number in range(10)]
            return await asyncio.gather(*requests, return_exceptions=True)

        outcomes = asyncio.run(scenario())
        assert [str(outcome) for outcome in outcomes] == ["the engine died: RuntimeError: device lost"] * 10
        assert all(isinstance(outcome, EngineError) for outcome in outcomes)  # some were submitted too late
        assert not engine.alive
        with pytest.raises(EngineError, match="device lost"):
            run(engine, [1], GREEDY)
        assert "device lost" in caplog.text

    def test_a_request_that_arrives_during_the_failure_fails_too(
        self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stepping, arrived = threading.Event(), threading.Event()

        def broken(*_: Any) -> torch.Tensor:
            stepping.set()
            arrived.wait()
            raise RuntimeError("device lost")

        monkeypatch.setattr(engine._runner, "decode", broken)

        async def scenario() -> None:
            first = engine.submit([1], GREEDY)
            await anext(first)
            await asyncio.to_thread(stepping.wait)
            second = engine.submit([2], GREEDY)
            arrived.set()
            for generation in (first, second):
                with pytest.raises(EngineError, match="device lost"):
                    await asyncio.wait_for(anext(generation), 60)

        asyncio.run(scenario())

    def test_nan_logits_end_one_request_and_not_the_engine(
        self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        decode = engine._runner.decode

        def overflowing(tokens: list[int], positions: list[int], slots: list[int]) -> torch.Tensor:
            logits = decode(tokens, positions, slots)
            logits[[position == 10 for position in positions]] = torch.nan
            return logits

        monkeypatch.setattr(engine._runner, "decode", overflowing)

        async def scenario() -> list[list[Delta] | BaseException]:
            short, long = ([number] * length for number, length in ((1, 3), (2, 30)))
            requests = [collect(engine, prompt, GREEDY) for prompt in (short, long)]
            return await asyncio.gather(*requests, return_exceptions=True)

        failed, finished = asyncio.run(scenario())
        assert isinstance(failed, EngineError)
        assert isinstance(finished, list)
        assert len(finished) == 40
        assert engine.alive

    def test_close_fails_the_requests_in_flight(self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        decode = engine._runner.decode

        def patient(tokens: list[int], positions: list[int], slots: list[int]) -> torch.Tensor:
            while engine.alive:
                time.sleep(0.001)  # so that the generation cannot end before the engine is closed
            return decode(tokens, positions, slots)

        monkeypatch.setattr(engine._runner, "decode", patient)

        async def scenario() -> None:
            generation = engine.submit([1], GREEDY)
            await anext(generation)
            engine.close()
            engine.close()
            with pytest.raises(EngineError, match="closed"):
                [delta async for delta in generation]
            with pytest.raises(StopAsyncIteration):
                await anext(generation)

        asyncio.run(scenario())
        assert not engine.alive
        with pytest.raises(EngineError, match="closed"):
            run(engine, [1], GREEDY)
