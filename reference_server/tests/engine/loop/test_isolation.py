"""A request that fails or is cancelled ends alone."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine import EngineError, SamplingParams, Unavailable
from reference_server.engine.device import torch
from reference_server.tests.engine.loop.collection import GREEDY, PATIENCE_S, collect

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.loop.local_engine import LocalEngine


class TestOneRequest:
    """An error that concerns one request ends only that request."""

    @pytest.fixture
    def short_of_memory(self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], None]:
        """Make every pass with more than 30 tokens of one prompt raise an error."""
        prefill = engine._runner.prefill

        def install(error: Exception) -> None:
            def limited_prefill(pieces: list[list[int]], *others: Any) -> torch.Tensor:
                if any(len(piece) > 30 for piece in pieces):
                    raise error
                return prefill(pieces, *others)

            monkeypatch.setattr(engine._runner, "prefill", limited_prefill)

        return install

    @pytest.mark.parametrize(
        "error", [torch.OutOfMemoryError("out of memory"), RuntimeError("can't allocate memory: 9 GB")]
    )
    def test_only_the_prompt_without_memory_fails(
        self, engine: LocalEngine, short_of_memory: Callable[[Exception], None], error: Exception
    ) -> None:
        expected = asyncio.run(collect(engine, [2, 3]))
        short_of_memory(error)

        async def scenario() -> Any:
            asked = ([2, 3], [1] * 40, [2, 3], [4, 5])
            return await asyncio.gather(*(collect(engine, prompt) for prompt in asked))

        first, failed, second, third = asyncio.run(scenario())
        assert isinstance(failed, Unavailable)
        assert [first, second, len(third)] == [expected, expected, 5]
        assert (engine.alive, engine._driver.generations, engine._driver.scheduler.free_slots) == (True, {}, 4)

    def test_a_prompt_that_breaks_a_model_with_a_cache_for_each_sequence_ends_alone(
        self,
        engine: LocalEngine,
        short_of_memory: Callable[[Exception], None],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        expected = asyncio.run(collect(engine, [2, 3]))
        short_of_memory(RuntimeError("shapes do not fit"))
        monkeypatch.setattr(engine._runner, "keeps_prefixes", False)

        async def scenario() -> Any:
            return await asyncio.gather(*(collect(engine, prompt) for prompt in ([2, 3], [1] * 40, [2, 3])))

        first, failed, second = asyncio.run(scenario())
        assert isinstance(failed, EngineError)
        assert [first, second] == [expected, expected]
        assert (engine.alive, engine._driver.generations, engine._driver.scheduler.free_slots) == (True, {}, 4)

    def test_all_choices_of_a_prompt_without_memory_fail_together(
        self, engine: LocalEngine, short_of_memory: Callable[[Exception], None]
    ) -> None:
        short_of_memory(torch.OutOfMemoryError("out of memory"))
        several = SamplingParams(n=3, max_tokens=5, ignore_eos=True)

        async def scenario() -> Any:
            return await asyncio.gather(collect(engine, [1] * 40, several), collect(engine, [2]))

        failed, other = asyncio.run(scenario())
        assert isinstance(failed, Unavailable)
        assert len(other) == 5
        assert (engine.alive, engine._driver.generations, engine._driver.scheduler.free_slots) == (True, {}, 4)

    @pytest.mark.parametrize("method", ["begin", "reset_slot"])
    def test_a_sampler_error_ends_no_other_answer(
        self, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, method: str
    ) -> None:
        expected = asyncio.run(collect(engine, [2]))
        sampler = engine._driver.sampler
        reset_slot, begin = sampler.reset_slot, sampler.begin
        prompts: dict[int, list[int]] = {}  # by slot; a slot may serve several requests in turn

        def recorded_reset(slot: int, params: SamplingParams, prompt: list[int]) -> None:
            if method == "reset_slot" and prompt == [1, 1]:
                raise ZeroDivisionError
            prompts[slot] = prompt
            reset_slot(slot, params, prompt)

        def failing_begin(logits: torch.Tensor, slots: list[int], uniforms: list[float]) -> Any:
            if method == "begin" and any(prompts[slot] == [1, 1] for slot in slots):
                raise ZeroDivisionError
            return begin(logits, slots, uniforms)

        monkeypatch.setattr(sampler, "reset_slot", recorded_reset)
        monkeypatch.setattr(sampler, "begin", failing_begin)

        async def scenario() -> Any:
            return await asyncio.gather(*(collect(engine, prompt) for prompt in ([2], [1, 1], [2])))

        first, failed, third = asyncio.run(scenario())
        assert [first, third] == [expected, expected]
        assert str(failed) == "the answer cannot continue: ZeroDivisionError: "
        assert (engine.alive, engine._driver.generations) == (True, {})


class TestCancelledPrompt:
    """A request that is cancelled during its prefill."""

    def test_no_further_chunk_is_computed(
        self, load_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = load_engine(slots=1, prefill_tokens=16)
        reached, cancelled = threading.Event(), threading.Event()
        chunks: list[int] = []
        prefill = engine._runner.prefill

        def recorded(pieces: list[list[int]], slots: list[int], starts: list[int]) -> torch.Tensor:
            chunks.append(starts[0])
            if len(chunks) == 3:
                reached.set()
                cancelled.wait(PATIENCE_S)
            return prefill(pieces, slots, starts)

        monkeypatch.setattr(engine._runner, "prefill", recorded)

        async def scenario() -> None:
            generation = engine.submit(list(range(200)), GREEDY)
            await asyncio.to_thread(reached.wait, PATIENCE_S)
            generation.cancel()
            cancelled.set()
            assert [delta async for delta in generation] == []
            assert await collect(engine, [7] * 20) != []

        asyncio.run(scenario())
        assert chunks == [0, 16, 32, 0, 16]
        assert (engine._driver.generations, engine._driver.scheduler.free_slots) == ({}, 1)
