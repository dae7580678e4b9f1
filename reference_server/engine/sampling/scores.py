"""Scores: how likely the model found what was chosen, and what else it found likely."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from reference_server.engine.device import torch
from reference_server.engine.sampling.block_sums import sum_blocks
from reference_server.engine.sampling.topk import topk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Sequence as Seq


class TokenScore(NamedTuple):  # made for every token, and cheaper than a dataclass
    """logprob: of the chosen token. top: (token id, logprob) of the most likely ones, the likeliest first."""

    logprob: float
    top: tuple[tuple[int, float], ...]


class Scorer:
    """The scores of whatever tokens, at the places of some rows of logits [rows, vocabulary].

    top: so many alternatives each; equally likely ones come in the order of their ids. named: tokens that are among
    the alternatives too, behind the others.
    """

    def __init__(self, logits: torch.Tensor, top: int, extra_ids: Seq[int] = ()) -> None:
        self._logprobs = _log_softmax(logits)
        self._top = _top_alternatives(self._logprobs, top)
        self._extra_ids = extra_ids

    def score(self, row: int, token: int) -> TokenScore:
        return TokenScore(
            float(self._logprobs[row, token]), _append_extra(self._top[row], self._extra_ids, self._logprobs[row])
        )


def score_tokens(
    logits: torch.Tensor, tokens: Seq[int], tops: Seq[int], extra_ids: Seq[Seq[int]] = ()
) -> list[TokenScore]:
    """The score of one token for each row of logits [rows, vocabulary], with so many alternatives and those named.

    Of a usable row nothing depends on the rest of the batch.
    """
    total = _log_sum_exp(logits)
    chosen: list[float] = (logits.gather(1, torch.tensor(tokens)[:, None]).double() - total)[:, 0].tolist()
    best = [ranked[:top] for ranked, top in zip(_top_alternatives(logits, max(tops), total), tops, strict=True)]
    if any(extra_ids):
        logprobs = logits.double() - total
        return [
            TokenScore(logprob, _append_extra(*row))
            for logprob, *row in zip(chosen, best, extra_ids, logprobs, strict=True)
        ]
    return [TokenScore(logprob, tuple(ranked)) for logprob, ranked in zip(chosen, best, strict=True)]


class LazyScores:
    """The scores of one token for each row of logits, as `score` has them: worked out when the first is asked for."""

    def __init__(self, logits: torch.Tensor, tokens: Seq[int], tops: Seq[int], extra_ids: Seq[Seq[int]]) -> None:
        self._arguments = logits, tokens, tops, extra_ids
        self._scores: list[TokenScore] | None = None

    def at(self, row: int) -> TokenScore:
        """One of them. Where all together fail, each is tried alone, so that a row fails for itself only."""
        if self._scores is None:
            with torch.inference_mode():
                try:
                    self._scores = score_tokens(*self._arguments)
                except Exception:
                    logits, tokens, tops, extra_ids = self._arguments
                    return score_tokens(logits[row : row + 1], [tokens[row]], [tops[row]], [extra_ids[row]])[0]
        return self._scores[row]


class ScoreRef(NamedTuple):
    """The score of one row."""

    scores: LazyScores
    row: int


def _append_extra(
    best: Seq[tuple[int, float]], extra_ids: Seq[int], logprobs: torch.Tensor
) -> tuple[tuple[int, float], ...]:
    if not extra_ids:
        return tuple(best)
    listed = {token for token, _ in best}
    left = [token for token in dict.fromkeys(extra_ids) if token not in listed]
    return (*best, *zip(left, logprobs[left].tolist(), strict=True))


def score_prompt(
    blocks: Iterable[torch.Tensor], prompt: Seq[int], top: int
) -> Iterator[tuple[tuple[int, float, int], ...]]:
    """(token id, logprob, rank) of every token of a prompt but the first and of the likeliest ones at its place.

    blocks: the logits [tokens, vocabulary] after each token of the prompt, in order. A token that is among the
    likeliest comes once.
    """
    at = 1
    for block in blocks:
        logprobs = _log_softmax(block)
        for row, best in zip(logprobs, _top_alternatives(logprobs, top), strict=True):
            if at == len(prompt):
                return
            own = float(row[prompt[at]])
            entries = {prompt[at]: (prompt[at], own, int((row > own).sum()) + 1)}
            for rank, (token, logprob) in enumerate(best, start=1):
                entries.setdefault(token, (token, logprob, rank))
            yield tuple(entries.values())
            at += 1


def _log_sum_exp(logits: torch.Tensor) -> torch.Tensor:
    """The logarithm of the sum of what each row of logits stands for; float64 [rows, 1].

    Exponentials in float32 are a few times as fast as in float64, and each is off by a ten-millionth of itself at most:
    so is their sum.
    """
    greatest = logits.amax(-1, keepdim=True)
    return sum_blocks((logits - greatest).exp_()).sum(-1, keepdim=True).log() + greatest


def _log_softmax(logits: torch.Tensor) -> torch.Tensor:
    exact = logits.double()
    return exact - exact.logsumexp(-1, keepdim=True)


def _top_alternatives(
    logprobs: torch.Tensor, top: int, total: torch.Tensor | None = None
) -> list[list[tuple[int, float]]]:
    """The likeliest tokens of each row; total: what their numbers are too large by."""
    values, tokens = topk(logprobs, min(top, logprobs.shape[1]))
    if total is not None:
        values = values.double() - total
    rows = [list(zip(*row, strict=True)) for row in zip(tokens.tolist(), values.tolist(), strict=True)]
    if (values[:, 1:] == values[:, :-1]).any():
        return [sorted(row, key=lambda item: (-item[1], item[0])) for row in rows]
    return rows
