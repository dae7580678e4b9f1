"""LocalEngine: its answers are those of the model, for any number of concurrent requests."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import threading
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine import Delta, PromptTooLong
from reference_server.engine.device import torch
from reference_server.tests.runs import GREEDY, collect, run, text_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reference_server.engine.loop.local_engine import LocalEngine


def test_greedy_tokens_are_those_of_transformers(random_checkpoint: Path, engine: LocalEngine) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype="float32")
    for text in ("hello", "你好，世界", "The quick brown fox jumps over the lazy dog. " * 5):
        prompt = engine.encode_chat([{"role": "user", "content": text}])
        with torch.inference_mode():
            output = model.generate(
                torch.tensor([prompt]), do_sample=False, max_new_tokens=40, eos_token_id=None, pad_token_id=0
            )
        deltas = run(engine, prompt, GREEDY)
        expected = output[0, len(prompt) :].tolist()
        assert expected == [delta.token_id for delta in deltas]
        whole = engine._checkpoint.tokenizer.decode(expected, skip_special_tokens=True)
        assert whole.rstrip("\ufffd") == text_of(deltas).rstrip("\ufffd")


class TestRefusals:
    """Requests and arguments that are refused."""

    def test_a_prompt_without_space_for_a_token(self, load_engine: Callable[..., LocalEngine]) -> None:
        engine = load_engine(max_model_len=32)
        with pytest.raises(PromptTooLong, match="32 tokens, but at most 31 fit") as caught:
            run(engine, [1] * 32, GREEDY)
        assert (caught.value.prompt_tokens, caught.value.limit) == (32, 31)

    @pytest.mark.parametrize("prompt", [[], [-1], [10**9]])
    def test_an_invalid_prompt(self, engine: LocalEngine, prompt: list[int]) -> None:
        with pytest.raises(ValueError, match="the prompt"):
            run(engine, prompt, GREEDY)

    def test_arguments_out_of_range(self, load_engine: Callable[..., LocalEngine]) -> None:
        for wrong in ({"slots": 0}, {"max_model_len": 513}, {"max_model_len": 1}, {"max_new_tokens": 0}):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                load_engine(**wrong)


def test_64_requests_on_4_slots_finish_and_are_admitted_in_order(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    admitted: list[list[int]] = []
    sizes: list[int] = []
    prefill, decode = engine._runner.prefill, engine._runner.decode

    def recorded_prefill(pieces: list[list[int]], slots: list[int], starts: list[int]) -> torch.Tensor:
        admitted.extend(pieces)
        sizes.append(len(slots))
        return prefill(pieces, slots, starts)

    def recorded_decode(tokens: list[int], positions: list[int], slots: list[int]) -> torch.Tensor:
        sizes.append(len(slots))
        return decode(tokens, positions, slots)

    monkeypatch.setattr(engine._runner, "prefill", recorded_prefill)
    monkeypatch.setattr(engine._runner, "decode", recorded_decode)
    prompts = [[number, number // 8, 3] for number in range(64)]

    async def together() -> list[list[Delta]]:
        requests = [
            collect(engine, prompt, dataclasses.replace(GREEDY, max_tokens=1 + 5 * number % 13))
            for number, prompt in enumerate(prompts)
        ]
        return await asyncio.gather(*requests)

    requests = asyncio.run(together())
    assert [1 + 5 * number % 13 for number in range(64)] == [len(deltas) for deltas in requests]
    assert prompts == admitted
    batch_sizes = sorted(delta.batch_size for deltas in requests for delta in deltas if delta.batch_size)
    assert sorted(size for size in sizes for _ in range(size)) == batch_sizes
    assert max(sizes) == 4


def test_times_are_measured_from_when_a_token_could_be_scheduled(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count()
    monkeypatch.setattr("reference_server.engine.loop.local_engine.time.perf_counter", lambda: float(next(clock)))
    deltas = run(engine, [1, 2, 3], dataclasses.replace(GREEDY, max_tokens=3))
    # The clock is read at submission (0), then at the start and the end of each of three steps.
    assert [(delta.queue_wait_s, delta.step_s) for delta in deltas] == [(1.0, 1.0)] * 3


def test_a_step_is_delivered_in_one_call_per_loop(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, calls = itertools.count(), itertools.count()
    step = engine._driver._step
    monkeypatch.setattr(engine._driver, "_step", lambda batch: (next(steps), step(batch))[1])

    async def together() -> None:
        loop = asyncio.get_running_loop()
        call = loop.call_soon_threadsafe

        def counted(callback: Any, *arguments: Any, **options: Any) -> Any:
            if threading.current_thread().name.startswith("engine-output"):
                next(calls)
            return call(callback, *arguments, **options)

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        await asyncio.gather(*(collect(engine, [number], GREEDY) for number in range(6)))

    asyncio.run(together())
    assert next(steps) == next(calls)


def test_two_loops_share_an_engine(engine: LocalEngine) -> None:
    expected = run(engine, [1, 2, 3], GREEDY)
    results: list[list[Delta]] = []
    threads = [threading.Thread(target=lambda: results.append(run(engine, [1, 2, 3], GREEDY))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tokens = [delta.token_id for delta in expected]
    assert [tokens] * 3 == [[delta.token_id for delta in deltas] for deltas in results]
