"""Draws from large vocabularies, whose tokens are found by the sums of blocks."""

from __future__ import annotations

import pytest

from reference_server.engine.device import torch
from reference_server.engine.params import SamplingParams
from reference_server.engine.sampling.nucleus import draw_from_nucleus
from reference_server.engine.sampling.sampler import Sampler
from reference_server.tests.engine.sampling.shares import draw_logits


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
    weights = (draw_logits(20_000, 3) * scale).exp()
    weights[5:900] = 0.0
    ordered = weights.sort(descending=True, stable=True)
    by_rank = ordered.values.double()
    kept = by_rank * (by_rank.cumsum(-1) - by_rank < top_p * float(by_rank.sum()))
    for number in [0.0, *(index / 31 + 1e-6 for index in range(31)), 1 - 2**-53]:
        rank = int(torch.searchsorted(kept.cumsum(-1), number * kept.sum(), right=True))
        expected = int(ordered.indices[min(rank, int(kept.count_nonzero()) - 1)])
        assert draw_from_nucleus(weights, float(by_rank.sum()), top_p, number) == expected
