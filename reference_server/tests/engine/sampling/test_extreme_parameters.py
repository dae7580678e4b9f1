"""Extreme parameters and logits: a token is chosen wherever one is possible, and invalid parameters are named."""

from __future__ import annotations

import math

import pytest

from reference_server.engine.device import torch
from reference_server.engine.params import SamplingParams
from reference_server.engine.sampling.sampler import Sampler, find_unusable_rows
from reference_server.tests.engine.sampling.shares import GRID, draw_logits, measure_shares


@pytest.mark.parametrize("number", [0.0, 2.0**-53, 1 - 2.0**-53])
@pytest.mark.parametrize("params", [SamplingParams(), SamplingParams(top_p=0.99), SamplingParams(top_k=3)])
def test_extreme_numbers_never_choose_an_impossible_token(number: float, params: SamplingParams) -> None:
    logits = torch.tensor([-math.inf, 0.3, -math.inf, 0.1, 0.2, -math.inf])
    sampler = Sampler(1, 6)
    sampler.reset_slot(0, params, [0])
    assert sampler.sample(logits[None], [0], [number])[0] in {1, 3, 4}


@pytest.mark.parametrize(("top_p", "kept"), [(0.25, 1), (0.26, 2), (0.5, 2), (0.75, 3), (0.76, 4), (1.0, 4)])
def test_an_exactly_reached_top_p_adds_no_token(top_p: float, kept: int) -> None:
    shares = measure_shares(torch.zeros(4), SamplingParams(top_p=top_p), [0], [])
    assert int((shares > 0).sum()) == kept


@pytest.mark.parametrize("temperature", [1e-300, 1e-40, 1e-30, 1e-3])
def test_a_tiny_temperature_is_greedy(temperature: float) -> None:
    logits = draw_logits(100, 8, scale=100)
    sampler = Sampler(1, 100)
    sampler.reset_slot(0, SamplingParams(temperature=temperature), [0])
    assert [int(logits.argmax())] == sampler.sample(logits[None], [0], [0.999])


def test_a_huge_temperature_is_uniform() -> None:
    shares = measure_shares(draw_logits(10, 9), SamplingParams(temperature=1e300), [0], [])
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
        assert sampler.sample(draw_logits(3, 10)[None], [0], [0.5])[0] in {0, 1, 2}


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
