"""Scores: how likely the model found what was chosen, and what else it found likely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .device import torch

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq


@dataclass(frozen=True, slots=True)
class Score:
    """logprob: of the chosen token. top: (token id, logprob) of the most likely ones, the likeliest first."""

    logprob: float
    top: tuple[tuple[int, float], ...]


def score(logits: torch.Tensor, tokens: Seq[int], tops: Seq[int]) -> list[Score]:
    """The score of one token for each row of logits [rows, vocabulary], with so many alternatives.

    A log-softmax in float64: of a usable row nothing depends on the rest of the batch. Equally likely
    alternatives come in the order of their ids.
    """
    exact = logits.double()
    exact = exact - exact.logsumexp(-1, keepdim=True)
    chosen: list[float] = exact.gather(1, torch.tensor(tokens)[:, None])[:, 0].tolist()
    widest = min(max(tops), exact.shape[1])
    best = exact.topk(widest)
    pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ordered = [sorted(zip(*pair, strict=True), key=lambda item: (-item[1], item[0])) for pair in pairs]
    return [
        Score(logprob, tuple(alternatives[:top]))
        for logprob, alternatives, top in zip(chosen, ordered, tops, strict=True)
    ]
