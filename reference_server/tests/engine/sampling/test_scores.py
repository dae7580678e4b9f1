"""score_tokens: log-probabilities, compared with a float64 reference."""

from __future__ import annotations

import math

import pytest

from reference_server.engine.device import torch
from reference_server.engine.sampling.scores import TokenScore, score_tokens

SHARE = 3e-7  # error of a logarithm with float32 exponentials; the logits are not more exact


def _reference(logits: list[float], token: int, top: int) -> TokenScore:
    largest = max(logits)
    total = largest + math.log(math.fsum(math.exp(logit - largest) for logit in logits))
    order = sorted(range(len(logits)), key=lambda token_id: (-logits[token_id], token_id))[:top]
    return TokenScore(logits[token] - total, tuple((token_id, logits[token_id] - total) for token_id in order))


def _logits(rows: int, vocabulary: int, scale: float = 3.0) -> torch.Tensor:
    return torch.randn(rows, vocabulary, generator=torch.Generator().manual_seed(3)) * scale


@pytest.mark.parametrize("scale", [1e-3, 3.0, 1e4])
def test_scores_are_those_of_the_reference(scale: float) -> None:
    logits = _logits(21, 300, scale)
    tokens = [int(token) for token in logits.argsort(-1)[:, 7]]
    actual_scores = score_tokens(logits, tokens, list(range(21)))
    for row, actual in enumerate(actual_scores):
        expected = _reference(logits[row].tolist(), tokens[row], row)
        assert [token for token, _ in expected.top] == [token for token, _ in actual.top]
        assert pytest.approx(expected.logprob, abs=SHARE) == actual.logprob
        assert pytest.approx([logprob for _, logprob in expected.top], abs=SHARE) == [
            logprob for _, logprob in actual.top
        ]


def test_a_row_has_the_same_score_alone_and_among_others() -> None:
    logits = _logits(32, 1001)
    together = score_tokens(logits, list(range(32)), [5] * 32)
    assert together == [score_tokens(logits[row : row + 1], [row], [5])[0] for row in range(32)]


def test_equally_likely_alternatives_come_in_the_order_of_their_ids() -> None:
    logits = torch.tensor([[0.0, 1.0, 0.0, 1.0, 0.0]])
    assert [token for token, _ in score_tokens(logits, [0], [5])[0].top] == [1, 3, 0, 2, 4]


def test_an_impossible_token_scores_minus_infinity_and_alternatives_are_at_most_the_vocabulary() -> None:
    impossible = score_tokens(torch.tensor([[0.0, -math.inf, 0.0]]), [1], [20])[0]
    assert impossible.logprob == -math.inf
    assert [token for token, _ in impossible.top] == [0, 2, 1]
    assert pytest.approx([-math.log(2), -math.log(2), -math.inf]) == [logprob for _, logprob in impossible.top]
