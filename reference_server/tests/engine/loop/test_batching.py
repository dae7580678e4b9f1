"""Independence of a sequence from the other sequences of its batch, its slot and padding."""

from __future__ import annotations

import asyncio
import platform
import random
from typing import TYPE_CHECKING

import pytest

from reference_server.engine import SamplingParams
from reference_server.engine.device import torch
from reference_server.engine.model.runner import Runner
from reference_server.engine.sampling.sampler import draw_uniform

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reference_server.engine.loop.local_engine import LocalEngine

SAMPLED = [
    SamplingParams(temperature=0, max_tokens=30, ignore_eos=True),
    SamplingParams(temperature=0.8, seed=2**64 - 1, max_tokens=25, ignore_eos=True),
    SamplingParams(top_p=0.9, seed=0, max_tokens=30, ignore_eos=True),
    SamplingParams(top_k=20, seed=5, frequency_penalty=0.5, max_tokens=12, ignore_eos=True),
    SamplingParams(seed=6, repetition_penalty=1.3, presence_penalty=0.2, max_tokens=30, ignore_eos=True),
]


def _prompts(count: int, vocabulary: int) -> list[list[int]]:
    generator = random.Random(1)
    return [[generator.randrange(vocabulary) for _ in range(generator.randrange(1, 90))] for _ in range(count)]


async def _tokens(engine: LocalEngine, prompt: list[int], params: SamplingParams) -> list[int]:
    return [delta.token_id async for delta in engine.submit(prompt, params)]


@pytest.mark.takes_turns
@pytest.mark.parametrize("slots", [1, 3, 8])
def test_a_request_gets_the_same_tokens_alone_and_among_others(
    load_engine: Callable[..., LocalEngine], slots: int
) -> None:
    engine = load_engine(slots=slots)
    requests = [(prompt, SAMPLED[i % 5]) for i, prompt in enumerate(_prompts(20, engine.vocabulary_size))]

    async def alone() -> list[list[int]]:
        return [await _tokens(engine, *request) for request in requests]

    async def together() -> list[list[int]]:
        return await asyncio.gather(*(_tokens(engine, *request) for request in requests))

    assert asyncio.run(alone()) == asyncio.run(together())


def test_two_seeds_give_different_tokens_and_one_seed_the_same(engine: LocalEngine) -> None:
    def run(seed: int | None) -> list[int]:
        params = SamplingParams(seed=seed, max_tokens=20, ignore_eos=True)
        return asyncio.run(_tokens(engine, [1, 2, 3], params))

    seeds = [0, 1, 2**63, 2**64 - 1]
    runs = [run(seed) for seed in seeds]
    assert runs == [run(seed) for seed in seeds]
    assert len(seeds) == len(set(map(tuple, runs)))
    assert run(None) != run(None)


def test_a_seed_draws_a_separate_number_for_every_token(engine: LocalEngine) -> None:
    # At this temperature every token is equally likely: the number drawn determines the token id.
    params = SamplingParams(temperature=1e30, seed=12345, max_tokens=50, ignore_eos=True)
    expected = [int(draw_uniform(12345, index) * engine.vocabulary_size) for index in range(50)]
    assert expected == asyncio.run(_tokens(engine, [1, 2, 3], params))


@pytest.fixture
def runner(random_checkpoint: Path) -> Runner:
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype="float32").eval()
    runner = Runner(model, slots=8, max_model_len=256)
    with torch.inference_mode():
        runner.trace()
    return runner


def _same(expected: torch.Tensor, actual: torch.Tensor) -> bool:
    """Return whether tensors are bit-identical where this was measured (x86 with MKL), otherwise nearly equal."""
    exact = platform.machine() in {"x86_64", "AMD64"} and torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
    return torch.equal(expected, actual) if exact else torch.allclose(expected, actual, atol=1e-5)


@torch.inference_mode()
def test_logits_are_the_same_in_every_batch_slot_and_padding(runner: Runner) -> None:
    prompts = _prompts(8, runner.vocabulary_size)
    alone = []
    for prompt in prompts:
        first = runner.prefill([prompt], [0])
        alone.append((first, runner.decode([7], [len(prompt)], [0])))
    for size, offset in ((2, 0), (3, 5), (5, 3), (8, 0)):
        slots = list(range(offset, offset + size))[::-1]
        firsts = runner.prefill(prompts[:size], slots)
        seconds = runner.decode([7] * size, [len(prompt) for prompt in prompts[:size]], slots)
        for row in range(size):
            assert _same(alone[row][0][0], firsts[row])
            assert _same(alone[row][1][0], seconds[row])


@torch.inference_mode()
def test_a_step_is_the_same_however_long_the_other_contexts_are(random_checkpoint: Path) -> None:
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype="float32").eval()
    runner = Runner(model, slots=4, max_model_len=512)
    generator = random.Random(3)
    longest = [generator.randrange(runner.vocabulary_size) for _ in range(500)]
    runner.prefill([longest], [1])
    for length in (20, 120, 200, 250, 300, 340, 390, 450):
        runner.prefill([longest[::-1][:length]], [0])
        alone = runner.decode([7], [length], [0])
        for other in (length + 40, 410, 499):
            assert _same(alone[0], runner.decode([7, 9], [length, other], [0, 1])[0])


@torch.inference_mode()
def test_a_decode_step_changes_no_other_slots(runner: Runner) -> None:
    prompts = _prompts(4, runner.vocabulary_size)
    runner.prefill(prompts, [0, 1, 2, 3])
    expected = runner.decode([7], [len(prompts[1])], [1])
    runner.decode([9, 9], [len(prompts[0]), len(prompts[2])], [0, 2])
    runner.decode([9], [len(prompts[3])], [3])
    assert _same(expected, runner.decode([7], [len(prompts[1])], [1]))


@torch.inference_mode()
def test_logits_are_those_of_the_models_own_forward_pass(runner: Runner, random_checkpoint: Path) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype="float32").eval()
    prompts = [[3], [5, 6], *_prompts(3, runner.vocabulary_size), list(range(250))]
    steps = [11, 12, 13, 14, 15, 16]
    slots = [6, 0, 3, 7, 1, 2]
    actual = [runner.prefill(prompts, slots)]
    for step, token in enumerate(steps):
        positions = [len(prompt) + step for prompt in prompts]
        actual.append(runner.decode([token] * len(prompts), positions, slots))
    for row, prompt in enumerate(prompts):
        own = model(input_ids=torch.tensor([prompt + steps])).logits[0, len(prompt) - 1 :]
        torch.testing.assert_close(torch.stack([logits[row] for logits in actual]), own, atol=2e-4, rtol=1e-4)
