"""Prefill in chunks: the tokens are the same as with a prefill in one pass."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine import SamplingParams
from reference_server.engine.device import torch
from reference_server.engine.model.runner import Runner
from reference_server.tests.runs import answers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reference_server.engine.loop.local_engine import LocalEngine

WHOLE = 4096


def requests(vocabulary: int, seed: int) -> list[tuple[list[int], SamplingParams]]:
    """Return requests with prompts of 1 to 480 tokens: greedy, sampled, with several choices and with beam search."""
    generator = random.Random(seed)
    kinds: list[dict[str, Any]] = [
        {"temperature": 0},
        {"logprobs": 3},
        {"n": 3, "best_of": 4},
        {"beam_search": True, "n": 2, "best_of": 3},
        {"top_p": 0.8, "repetition_penalty": 1.2},
    ]
    lengths = [generator.choice([generator.randrange(1, 60), generator.randrange(60, 480)]) for _ in range(20)]
    return [
        (
            [generator.randrange(vocabulary) for _ in range(length)],
            SamplingParams(seed=at, max_tokens=10, ignore_eos=True, **kinds[at % 5]),
        )
        for at, length in enumerate(lengths)
    ]


@pytest.mark.takes_turns
@pytest.mark.parametrize("chunk", [16, 48, 100, 256])
def test_the_chunk_size_does_not_change_answers(load_engine: Callable[..., LocalEngine], chunk: int) -> None:
    asked = requests(load_engine().vocabulary_size, seed=chunk)
    expected = answers(load_engine(slots=8, prefill_tokens=WHOLE), asked)
    assert expected == answers(load_engine(slots=8, prefill_tokens=chunk), asked)


@pytest.mark.takes_turns
@torch.inference_mode()
@pytest.mark.parametrize("chunk", [4, 16, 37, 64, 128, 200, 256])
def test_the_chunk_size_does_not_change_logits(random_checkpoint: Path, chunk: int) -> None:
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype="float32").eval()
    runner = Runner(model, slots=4, max_model_len=512)
    runner.trace()
    generator = random.Random(chunk)
    for length in (5, 63, 64, 65, 128, 129, 300, 511):
        prompt = [generator.randrange(runner.vocabulary_size) for _ in range(length)]
        whole = runner.prefill([prompt], [0])
        after = runner.decode([7], [length - 1], [0])
        for start in range(0, length, chunk):
            last = runner.prefill([prompt[start : start + chunk]], [2], [start])
        torch.testing.assert_close(last, whole, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(runner.decode([7], [length - 1], [2]), after, atol=1e-4, rtol=1e-4)


def test_a_running_answer_waits_for_at_most_one_chunk(
    load_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = load_engine(slots=3, prefill_tokens=32)
    passes: list[int] = []  # prompt tokens in each forward pass; 0 for a decode step
    prefill, decode = engine._runner.prefill, engine._runner.decode

    def recorded_prefill(pieces: list[list[int]], *others: Any) -> torch.Tensor:
        passes.append(sum(map(len, pieces)))
        return prefill(pieces, *others)

    def recorded_decode(*arguments: Any) -> torch.Tensor:
        passes.append(0)
        return decode(*arguments)

    monkeypatch.setattr(engine._runner, "prefill", recorded_prefill)
    monkeypatch.setattr(engine._runner, "decode", recorded_decode)

    async def scenario() -> None:
        running = engine.submit([1, 2, 3], SamplingParams(temperature=0, ignore_eos=True, max_tokens=200))
        await anext(running)
        long = engine.submit([5] * 400, SamplingParams(temperature=0, max_tokens=1))
        await anext(long)
        running.cancel()

    asyncio.run(scenario())
    first = passes.index(32)
    chunks = passes[first : first + 25]
    assert chunks == [32, 0] * 12 + [16]


def test_the_time_of_the_first_token_includes_all_chunks(
    load_engine: Callable[..., LocalEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = load_engine(slots=1, prefill_tokens=16)
    clock = iter(range(1000))
    monkeypatch.setattr("reference_server.engine.loop.local_engine.time.perf_counter", lambda: float(next(clock)))

    async def scenario() -> list[tuple[float | None, float | None]]:
        generation = engine.submit([3] * 48, SamplingParams(temperature=0, max_tokens=2, ignore_eos=True))
        return [(delta.queue_wait_s, delta.step_s) async for delta in generation]

    # The clock is read at submission (0), at the start of each chunk (1, 2, 3), at the end (4), and in the next step.
    assert asyncio.run(scenario()) == [(1.0, 3.0), (1.0, 1.0)]
