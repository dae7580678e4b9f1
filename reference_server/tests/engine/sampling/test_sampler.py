"""Sampler: the probabilities of its draws, compared with a float64 reference and with transformers."""

from __future__ import annotations

import math

import pytest

from reference_server.engine.device import torch
from reference_server.engine.params import SamplingParams
from reference_server.engine.sampling.nucleus import draw_from_nucleus
from reference_server.engine.sampling.sampler import Sampler, draw_uniform, find_unusable_rows

GRID = 4000


def _logits(vocabulary: int, seed: int, scale: float = 3.0) -> torch.Tensor:
    return torch.randn(vocabulary, generator=torch.Generator().manual_seed(seed)) * scale


def _shares(
    logits: torch.Tensor, params: SamplingParams, prompt: list[int], output: list[int], points: int = GRID
) -> torch.Tensor:
    """Return the share of each token over a grid of uniform numbers: its probability, to one part in `points`."""
    sampler = Sampler(1, len(logits))
    sampler.reset_slot(0, params, prompt)
    for token in output:
        forced = torch.full_like(logits, -math.inf)
        forced[token] = 0.0
        assert [token] == sampler.sample(forced[None], [0], [0.5])
    grid = [(index + 0.5) / points for index in range(points)]
    tokens = sampler.sample(logits.expand(points, -1), [0] * points, grid)
    return torch.bincount(torch.tensor(tokens), minlength=len(logits)) / points


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
    logits = _logits(64, 1)
    expected = _reference(logits, params, PROMPT, OUTPUT)
    actual = _shares(logits, params, PROMPT, OUTPUT)
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
    logits = _logits(5000, 2, scale=0.1)
    expected = _reference(logits, params, [], [])
    possible = expected.nonzero().flatten().tolist()
    assert kept == len(possible)
    assert set(_shares(logits, params, [0], [], points=300).nonzero().flatten().tolist()) <= set(possible)
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

    logits = _logits(200, 4)
    processor = getattr(logits_process, name)(argument)
    processed = processor(torch.tensor([PROMPT + OUTPUT]), logits[None].clone())
    expected = processed.softmax(-1)[0]
    assert float((_shares(logits, params, PROMPT, OUTPUT) - expected).abs().max()) <= 1.01 / GRID


def test_penalties_count_every_sampled_token() -> None:
    logits = _logits(30, 5)
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
    logits = _logits(30, 6)
    params = SamplingParams(temperature=0, frequency_penalty=1.0, repetition_penalty=2.0)

    def tokens(sampler: Sampler, params: SamplingParams, prompt: list[int]) -> list[int]:
        sampler.reset_slot(0, params, prompt)
        return [sampler.sample(logits[None], [0], [0.0])[0] for _ in range(20)]

    used = Sampler(1, 30)
    tokens(used, params, list(range(30)))
    assert tokens(Sampler(1, 30), params, [1]) == tokens(used, params, [1])
    assert [int(logits.argmax())] * 20 == tokens(used, SamplingParams(temperature=0), [1])


def test_a_row_gets_the_same_token_alone_and_among_others() -> None:
    logits = torch.stack([_logits(3000, seed, scale=0.5 + seed) for seed in range(len(PARAMS))])
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
    logits = _logits(20, 7, scale=1.0)
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


@pytest.mark.parametrize("number", [0.0, 2.0**-53, 1 - 2.0**-53])
@pytest.mark.parametrize("params", [SamplingParams(), SamplingParams(top_p=0.99), SamplingParams(top_k=3)])
def test_extreme_numbers_never_choose_an_impossible_token(number: float, params: SamplingParams) -> None:
    logits = torch.tensor([-math.inf, 0.3, -math.inf, 0.1, 0.2, -math.inf])
    sampler = Sampler(1, 6)
    sampler.reset_slot(0, params, [0])
    assert sampler.sample(logits[None], [0], [number])[0] in {1, 3, 4}


@pytest.mark.parametrize(("top_p", "kept"), [(0.25, 1), (0.26, 2), (0.5, 2), (0.75, 3), (0.76, 4), (1.0, 4)])
def test_an_exactly_reached_top_p_adds_no_token(top_p: float, kept: int) -> None:
    shares = _shares(torch.zeros(4), SamplingParams(top_p=top_p), [0], [])
    assert int((shares > 0).sum()) == kept


@pytest.mark.parametrize("temperature", [1e-300, 1e-40, 1e-30, 1e-3])
def test_a_tiny_temperature_is_greedy(temperature: float) -> None:
    logits = _logits(100, 8, scale=100)
    sampler = Sampler(1, 100)
    sampler.reset_slot(0, SamplingParams(temperature=temperature), [0])
    assert [int(logits.argmax())] == sampler.sample(logits[None], [0], [0.999])


def test_a_huge_temperature_is_uniform() -> None:
    shares = _shares(_logits(10, 9), SamplingParams(temperature=1e300), [0], [])
    assert pytest.approx(shares.tolist(), abs=1.01 / GRID) == [0.1] * 10


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(temperature=1e308),
        SamplingParams(presence_penalty=1e308, frequency_penalty=1e308),
        SamplingParams(presence_penalty=-1e308, frequency_penalty=-1e308),
        SamplingParams(repetition_penalty=1e308),
        SamplingParams(repetition_penalty=5e-324, presence_penalty=1e308, top_p=5e-324),
        SamplingParams(top_k=10**40),
        SamplingParams(top_k=-(10**40)),
    ],
    ids=str,
)
def test_extreme_parameters_still_choose_a_token(params: SamplingParams) -> None:
    sampler = Sampler(1, 3)
    sampler.reset_slot(0, params, [0, 1, 2])
    for _ in range(20):
        assert sampler.sample(_logits(3, 10)[None], [0], [0.5])[0] in {0, 1, 2}


def test_rows_without_a_usable_logit_are_found() -> None:
    logits = torch.zeros(5, 8)
    logits[1, 3] = math.nan
    logits[2] = -math.inf
    logits[3, 0] = math.inf
    logits[4, :7] = -math.inf
    assert find_unusable_rows(logits) == [1, 2, 3]


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_tokens": 0},
        {"temperature": -0.1},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"top_p": math.nan},
        {"min_p": -0.1},
        {"min_p": 1.1},
        {"min_p": math.nan},
        {"logit_bias": ((3, math.inf),)},
        {"allowed_token_ids": frozenset()},
        {"bad_words": (" ",)},
        {"min_tokens": -1},
        {"min_tokens": 3, "max_tokens": 2},
        {"repetition_penalty": 0.0},
        {"repetition_penalty": math.inf},
        {"presence_penalty": math.nan},
        {"frequency_penalty": math.inf},
        {"seed": -1},
        {"seed": 2**64},
        {"stop": ("a", "")},
    ],
    ids=str,
)
def test_errors_name_parameters_out_of_range(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=rf"^(invalid )?{next(iter(wrong))}\b"):
        SamplingParams(**wrong)  # type: ignore[arg-type]


def test_equally_likely_tokens_are_ordered_by_id_whatever_other_rows_need() -> None:
    logits = torch.zeros(2, 9000)
    logits[:, 4000:4040] = 1.0
    asked = [SamplingParams(top_k=30), SamplingParams(top_k=900)]
    for uniform_number in (0.0, 0.5, 0.999):
        together = _tokens(logits, asked, uniform_number)
        assert together[0] == _tokens(logits[:1], asked[:1], uniform_number)[0] == 4000 + int(30 * uniform_number)


def _tokens(logits: torch.Tensor, asked: list[SamplingParams], uniform_number: float) -> list[int]:
    sampler = Sampler(len(asked), logits.shape[1])
    for slot, params in enumerate(asked):
        sampler.reset_slot(slot, params, [1])
    return sampler.sample(logits, list(range(len(asked))), [uniform_number] * len(asked))


def test_every_token_of_a_large_vocabulary_can_be_drawn_with_its_probability() -> None:
    """The number drawn lies within the token's share, also if the token is found by its block."""
    logits = torch.randn(1, 9000, generator=torch.Generator().manual_seed(1)) * 2
    logits[0, 64:200] = -torch.inf
    reached = logits[0].double().softmax(-1).cumsum(-1)
    for number in [0.0, *(index / 97 for index in range(97)), 1 - 2**-53]:
        (token,) = _tokens(logits, [SamplingParams()], number)
        before = float(reached[token - 1]) if token else 0.0
        assert before - 1e-6 <= number <= float(reached[token]) + 1e-6
        assert logits[0, token] > -torch.inf


@pytest.mark.parametrize("scale", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("top_p", [0.001, 0.5, 0.9, 1 - 1e-12])
def test_a_draw_from_a_large_nucleus_is_that_of_sorted_weights(scale: float, top_p: float) -> None:
    weights = (_logits(20_000, 3) * scale).exp()
    weights[5:900] = 0.0
    ordered = weights.sort(descending=True, stable=True)
    by_rank = ordered.values.double()
    kept = by_rank * (by_rank.cumsum(-1) - by_rank < top_p * float(by_rank.sum()))
    for number in [0.0, *(index / 31 + 1e-6 for index in range(31)), 1 - 2**-53]:
        rank = int(torch.searchsorted(kept.cumsum(-1), number * kept.sum(), right=True))
        expected = int(ordered.indices[min(rank, int(kept.count_nonzero()) - 1)])
        assert draw_from_nucleus(weights, float(by_rank.sum()), top_p, number) == expected
