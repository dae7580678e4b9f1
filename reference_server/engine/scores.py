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


class Scorer:
    """The scores of whatever tokens, at the places of some rows of logits [rows, vocabulary].

    top: so many alternatives each; equally likely ones come in the order of their ids.
    """

    def __init__(self, logits: torch.Tensor, top: int) -> None:
        self._logprobs = _log_softmax(logits)
        self._top = _alternatives(self._logprobs, top)

    def score(self, row: int, token: int) -> Score:
        return Score(float(self._logprobs[row, token]), tuple(self._top[row]))


def score(logits: torch.Tensor, tokens: Seq[int], tops: Seq[int]) -> list[Score]:
    """The score of one token for each row of logits [rows, vocabulary], with so many alternatives.

    Of a usable row nothing depends on the rest of the batch.
    """
    logprobs = _log_softmax(logits)
    chosen: list[float] = logprobs.gather(1, torch.tensor(tokens)[:, None])[:, 0].tolist()
    rows = zip(chosen, _alternatives(logprobs, max(tops)), tops, strict=True)
    return [Score(logprob, tuple(alternatives[:top])) for logprob, alternatives, top in rows]


def _log_softmax(logits: torch.Tensor) -> torch.Tensor:
    exact = logits.double()
    return exact - exact.logsumexp(-1, keepdim=True)


def _alternatives(logprobs: torch.Tensor, top: int) -> list[list[tuple[int, float]]]:
    best = logprobs.topk(min(top, logprobs.shape[1]))
    rows = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return [sorted(zip(*row, strict=True), key=lambda item: (-item[1], item[0])) for row in rows]
