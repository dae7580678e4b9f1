"""Penalties change the logits of earlier tokens only, independently in every slot."""

from __future__ import annotations

import random

import pytest

from reference_server.engine import SamplingParams
from reference_server.engine.device import torch
from reference_server.engine.model.allocator import keep_freed_memory
from reference_server.engine.sampling.penalties import Penalties

VOCABULARY = 700


def _reference(logits: list[float], params: SamplingParams, prompt: list[int], generated: list[int]) -> list[float]:
    """Return penalised logits in float64, shifted to a maximum of 0."""
    out = list(logits)
    for token in {*prompt, *generated}:
        out[token] = (
            out[token] / params.repetition_penalty if out[token] > 0 else out[token] * params.repetition_penalty
        )
    for token in set(generated):
        out[token] -= params.frequency_penalty * generated.count(token) + params.presence_penalty
    return [logit - max(out) for logit in out]


@pytest.mark.parametrize("length", [1, 20, 300, 600])
def test_penalised_logits_are_those_of_the_reference(length: int) -> None:
    generator = random.Random(length)
    penalties = Penalties(5)
    slots: dict[int, tuple[SamplingParams, list[int], list[int]]] = {}
    for slot in (4, 0, 2):
        prompt = [generator.randrange(VOCABULARY) for _ in range(generator.randrange(1, length + 1))]
        params = SamplingParams(
            presence_penalty=generator.uniform(-2, 2),
            frequency_penalty=generator.uniform(-2, 2),
            repetition_penalty=generator.uniform(0.5, 2),
        )
        penalties.reset_slot(slot, params, prompt)
        slots[slot] = (params, prompt, [])
    for _ in range(length):
        tokens = [generator.randrange(VOCABULARY) for _ in slots]
        penalties.count_tokens(list(slots), tokens)
        for (_, _, generated), token in zip(slots.values(), tokens, strict=True):
            generated.append(token)
    logits = torch.randn(3, VOCABULARY, generator=torch.Generator().manual_seed(length)) * 4
    expected = [_reference(row.tolist(), *arguments) for row, arguments in zip(logits, slots.values(), strict=True)]
    penalties.apply(logits, list(slots))
    logits -= logits.amax(-1, keepdim=True)
    torch.testing.assert_close(logits.double(), torch.tensor(expected, dtype=torch.float64), atol=2e-5, rtol=1e-6)


def test_large_penalties_keep_the_differences_between_penalised_tokens() -> None:
    penalties = Penalties(1)
    penalties.reset_slot(0, SamplingParams(presence_penalty=-1e6), [9])
    for token in (3, 4):
        penalties.count_tokens([0], [token])
    logits = torch.tensor([[0.0] * 3 + [1.0, 0.99] + [0.0] * 5])
    penalties.apply(logits, [0])
    assert logits[0, 3] == 0
    assert float(logits[0, 4]) == pytest.approx(-0.01, abs=1e-6)
    assert float(logits[0, 0]) == pytest.approx(-1e6, rel=1e-6)


@pytest.mark.parametrize("penalty", [0.5, 1e6])
def test_a_row_has_the_same_bits_next_to_one_with_large_values(penalty: float) -> None:
    penalties = Penalties(2)
    penalties.reset_slot(0, SamplingParams(presence_penalty=penalty), [9, 3])
    penalties.reset_slot(1, SamplingParams(presence_penalty=-1e6), [4])
    penalties.count_tokens([0, 1], [3, 7])
    logits = torch.randn(2, 40, generator=torch.Generator().manual_seed(0))
    alone = logits[:1].clone()
    penalties.apply(alone, [0])
    penalties.apply(logits, [0, 1])
    assert alone.tolist() == logits[:1].tolist()


def test_a_copied_slot_is_independent() -> None:
    penalties = Penalties(2)
    params = SamplingParams(frequency_penalty=1.0)
    for slot in (0, 1):
        penalties.reset_slot(slot, params, [1])
    penalties.count_tokens([0], [5])
    penalties.copy([(0, 1)])
    penalties.count_tokens([1], [5])
    logits = torch.zeros(2, 10)
    penalties.apply(logits, [0, 1])
    assert logits[:, 5].tolist() == [-1.0, -2.0]


def test_a_slot_without_a_prompt_is_refused() -> None:
    with pytest.raises(ValueError, match="without a prompt"):
        Penalties(1).apply(torch.zeros(1, 4), [0])


def test_keep_freed_memory_can_be_called_twice() -> None:
    assert keep_freed_memory() == keep_freed_memory()
