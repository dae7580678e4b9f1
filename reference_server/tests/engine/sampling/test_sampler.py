"""Sampler: the probabilities of its draws, compared with a float64 reference and with transformers."""

from __future__ import annotations

import math

import pytest

from reference_server.engine.device import torch
from reference_server.engine.params import SamplingParams
from reference_server.engine.sampling.sampler import Sampler, draw_uniform
from reference_server.tests.engine.sampling.shares import GRID, draw_logits, measure_shares


def _reference(logits: torch.Tensor, params: SamplingParams, prompt: list[int], output: list[int]) -> torch.Tensor:
    """Return the same probabilities, computed token by token in float64."""
    values = {token: float(logit) for token, logit in enumerate(logits)}
    for token in {*prompt, *output}:
        value = values[token]
        values[token] = value / params.repetition_penalty if value > 0 else value * params.repetition_penalty
    for token in set(output):
        values[token] -= params.presence_penalty + params.frequency_penalty * output.count(token)
    best = max(values.values())
    if params.temperature == 0:
        weights = {token: float(value == best) for token, value in values.items()}
    else:
        weights = {token: math.exp((value - best) / params.temperature) for token, value in values.items()}
    greatest = max(weights.values())
    weights = {token: weight if weight >= params.min_p * greatest else 0.0 for token, weight in weights.items()}
    order = sorted((token for token in weights if weights[token] > 0), key=lambda token: -weights[token])
    if params.top_k > 0:
        order = order[: params.top_k]
    total = sum(weights[token] for token in order)
    kept, reached = order[:1], weights[order[0]]
    while reached < params.top_p * total and len(kept) < len(order):
        kept.append(order[len(kept)])
        reached += weights[kept[-1]]
    total = sum(weights[token] for token in kept)
    probabilities = torch.zeros(len(logits), dtype=torch.float64)
    for token in kept:
        probabilities[token] = weights[token] / total
    return probabilities


PARAMS = [
    SamplingParams(),
    SamplingParams(temperature=0),
    SamplingParams(temperature=0.3),
    SamplingParams(temperature=2.5),
    SamplingParams(top_k=1),
    SamplingParams(top_k=7),
    SamplingParams(top_k=64),
    SamplingParams(top_k=-1),
    SamplingParams(top_k=10**9),
    SamplingParams(top_p=0.5),
    SamplingParams(top_p=0.999),
    SamplingParams(top_p=1e-9),
    SamplingParams(temperature=0.7, top_k=20, top_p=0.8),
    SamplingParams(min_p=0.05),
    SamplingParams(min_p=1.0),
    SamplingParams(min_p=0.02, temperature=1.8, top_p=0.9),
    SamplingParams(min_p=0.1, top_k=3, frequency_penalty=0.3),
    SamplingParams(presence_penalty=1.5),
    SamplingParams(presence_penalty=-2.0),
    SamplingParams(frequency_penalty=0.8),
    SamplingParams(frequency_penalty=-0.5, presence_penalty=0.5),
    SamplingParams(repetition_penalty=1.7),
    SamplingParams(repetition_penalty=0.6),
    SamplingParams(temperature=0, repetition_penalty=3.0, frequency_penalty=1.0),
    SamplingParams(
        temperature=0.9,
        top_p=0.9,
        top_k=30,
        presence_penalty=0.4,
        frequency_penalty=0.3,
        repetition_penalty=1.2,
    ),
]
PROMPT = [1, 5, 5, 9, 40]
OUTPUT = [3, 3, 3, 9, 17]


@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_probabilities_are_those_of_the_reference(params: SamplingParams) -> None:
    logits = draw_logits(64, 1)
    expected = _reference(logits, params, PROMPT, OUTPUT)
    actual = measure_shares(logits, params, PROMPT, OUTPUT)
    assert float((actual - expected).abs().max()) <= 1.01 / GRID
    assert set(actual.nonzero().flatten().tolist()) <= set(expected.nonzero().flatten().tolist())


@pytest.mark.parametrize(
    ("params", "kept"),
    [
        (SamplingParams(top_p=0.8), 3856),
        (SamplingParams(top_p=0.01), 39),
        (SamplingParams(top_k=1500, top_p=0.5), 720),
        (SamplingParams(top_k=1500), 1500),
        (SamplingParams(top_k=3, top_p=0.99), 3),
    ],
    ids=str,
)
def test_only_the_kept_tokens_of_a_large_vocabulary_can_be_drawn(params: SamplingParams, kept: int) -> None:
    logits = draw_logits(5000, 2, scale=0.1)
    expected = _reference(logits, params, [], [])
    possible = expected.nonzero().flatten().tolist()
    assert kept == len(possible)
    assert set(measure_shares(logits, params, [0], [], points=300).nonzero().flatten().tolist()) <= set(possible)
    sampler = Sampler(1, 5000)
    sampler.reset_slot(0, params, [0])
    least_likely = min(possible, key=lambda token: float(expected[token]))
    assert [least_likely] == sampler.sample(logits[None], [0], [1 - 2.0**-53])


@pytest.mark.parametrize(
    ("params", "name", "argument"),
    [
        (SamplingParams(temperature=0.4), "TemperatureLogitsWarper", 0.4),
        (SamplingParams(top_k=12), "TopKLogitsWarper", 12),
        (SamplingParams(top_p=0.7), "TopPLogitsWarper", 0.7),
        (SamplingParams(min_p=0.03), "MinPLogitsWarper", 0.03),
        (SamplingParams(repetition_penalty=1.8), "RepetitionPenaltyLogitsProcessor", 1.8),
    ],
)
def test_probabilities_are_those_of_transformers(params: SamplingParams, name: str, argument: float) -> None:
    from transformers.generation import logits_process

    logits = draw_logits(200, 4)
    processor = getattr(logits_process, name)(argument)
    processed = processor(torch.tensor([PROMPT + OUTPUT]), logits[None].clone())
    expected = processed.softmax(-1)[0]
    assert float((measure_shares(logits, params, PROMPT, OUTPUT) - expected).abs().max()) <= 1.01 / GRID


def test_penalties_count_every_sampled_token() -> None:
    logits = draw_logits(30, 5)
    params = SamplingParams(temperature=0, frequency_penalty=0.7, presence_penalty=0.2, repetition_penalty=1.3)
    sampler = Sampler(3, 30)
    sampler.reset_slot(2, params, PROMPT[:4])
    output: list[int] = []
    for _ in range(40):
        expected = int(_reference(logits, params, PROMPT[:4], output).argmax())
        assert [expected] == sampler.sample(logits[None], [2], [0.1])
        output.append(expected)
    assert len(set(output)) > 5


def test_a_reset_slot_has_no_earlier_counts() -> None:
    logits = draw_logits(30, 6)
    params = SamplingParams(temperature=0, frequency_penalty=1.0, repetition_penalty=2.0)

    def tokens(sampler: Sampler, params: SamplingParams, prompt: list[int]) -> list[int]:
        sampler.reset_slot(0, params, prompt)
        return [sampler.sample(logits[None], [0], [0.0])[0] for _ in range(20)]

    used = Sampler(1, 30)
    tokens(used, params, list(range(30)))
    assert tokens(Sampler(1, 30), params, [1]) == tokens(used, params, [1])
    assert [int(logits.argmax())] * 20 == tokens(used, SamplingParams(temperature=0), [1])


def test_a_row_gets_the_same_token_alone_and_among_others() -> None:
    logits = torch.stack([draw_logits(3000, seed, scale=0.5 + seed) for seed in range(len(PARAMS))])
    numbers = [draw_uniform(seed, 3) for seed in range(len(PARAMS))]

    def opened() -> Sampler:
        sampler = Sampler(len(PARAMS), 3000)
        for slot, params in enumerate(PARAMS):
            sampler.reset_slot(slot, params, PROMPT)
        return sampler

    alone, together = opened(), opened()
    for _ in range(5):
        expected = [alone.sample(logits[i : i + 1], [i], [numbers[i]])[0] for i in range(len(PARAMS))]
        assert expected == together.sample(logits, list(range(len(PARAMS))), numbers)


def test_sampled_frequencies_fit_the_probabilities() -> None:
    logits = draw_logits(20, 7, scale=1.0)
    probabilities = _reference(logits, SamplingParams(), [], []).tolist()
    draws = 20_000
    for seed in (0, 7, 2**64 - 1):
        sampler = Sampler(1, 20)
        sampler.reset_slot(0, SamplingParams(seed=seed), [0])
        numbers = [draw_uniform(seed, index) for index in range(draws)]
        tokens = sampler.sample(logits.expand(draws, -1), [0] * draws, numbers)
        observed = torch.bincount(torch.tensor(tokens), minlength=20).tolist()
        pairs = zip(observed, probabilities, strict=True)
        statistic = sum((count - draws * share) ** 2 / (draws * share) for count, share in pairs)
        # 43.8 is the chi-square distribution's 99.9 % point for 19 degrees of freedom, 4.9 its 0.05 % point.
        assert 4.9 < statistic < 43.8


def test_uniform_numbers_cover_the_whole_range_of_seeds() -> None:
    seeds = [0, 1, 2**31, 2**32, 2**53 + 1, 2**63, 2**64 - 2, 2**64 - 1]
    numbers = [draw_uniform(seed, index) for seed in seeds for index in range(50)]
    assert len(numbers) == len(set(numbers))
    assert 0 <= min(numbers) < 0.05
    assert 0.95 < max(numbers) < 1
    # A seed must give the same tokens in every release.
    assert [draw_uniform(0, 0), draw_uniform(2**64 - 1, 7)] == [0.0564663990004608, 0.9622429077364113]
