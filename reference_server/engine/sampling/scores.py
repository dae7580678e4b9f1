"""Scores: how likely the model found what was chosen, and what else it found likely."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from reference_server.engine.device import torch
from reference_server.engine.sampling.block_sums import block_sums
from reference_server.engine.sampling.topk import largest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Sequence as Seq


class Score(NamedTuple):  # made for every token, and cheaper than a dataclass
    """logprob: of the chosen token. top: (token id, logprob) of the most likely ones, the likeliest first."""

    logprob: float
    top: tuple[tuple[int, float], ...]


class Scorer:
    """The scores of whatever tokens, at the places of some rows of logits [rows, vocabulary].

    top: so many alternatives each; equally likely ones come in the order of their ids. named: tokens that are among
    the alternatives too, behind the others.
    """

    def __init__(self, logits: torch.Tensor, top: int, named: Seq[int] = ()) -> None:
        self._logprobs = _log_softmax(logits)
        self._top = _alternatives(self._logprobs, top)
        self._named = named

    def score(self, row: int, token: int) -> Score:
        return Score(float(self._logprobs[row, token]), _with_named(self._top[row], self._named, self._logprobs[row]))


def score(logits: torch.Tensor, tokens: Seq[int], tops: Seq[int], named: Seq[Seq[int]] = ()) -> list[Score]:
    """The score of one token for each row of logits [rows, vocabulary], with so many alternatives and those named.

    Of a usable row nothing depends on the rest of the batch.
    """
    total = _total(logits)
    chosen: list[float] = (logits.gather(1, torch.tensor(tokens)[:, None]).double() - total)[:, 0].tolist()
    best = [ranked[:top] for ranked, top in zip(_alternatives(logits, max(tops), total), tops, strict=True)]
    if any(named):
        logprobs = logits.double() - total
        return [Score(logprob, _with_named(*row)) for logprob, *row in zip(chosen, best, named, logprobs, strict=True)]
    return [Score(logprob, tuple(ranked)) for logprob, ranked in zip(chosen, best, strict=True)]


class Scores:
    """The scores of one token for each row of logits, as `score` has them: worked out when the first is asked for."""

    def __init__(self, logits: torch.Tensor, tokens: Seq[int], tops: Seq[int], named: Seq[Seq[int]]) -> None:
        self._asked = logits, tokens, tops, named
        self._known: list[Score] | None = None

    def at(self, row: int) -> Score:
        """One of them. Where all together fail, each is tried alone, so that a row fails for itself only."""
        if self._known is None:
            with torch.inference_mode():
                try:
                    self._known = score(*self._asked)
                except Exception:
                    logits, tokens, tops, named = self._asked
                    return score(logits[row : row + 1], [tokens[row]], [tops[row]], [named[row]])[0]
        return self._known[row]


class Scored(NamedTuple):
    """The score of one row."""

    scores: Scores
    row: int


def _with_named(best: Seq[tuple[int, float]], named: Seq[int], logprobs: torch.Tensor) -> tuple[tuple[int, float], ...]:
    if not named:
        return tuple(best)
    listed = {token for token, _ in best}
    left = [token for token in dict.fromkeys(named) if token not in listed]
    return (*best, *zip(left, logprobs[left].tolist(), strict=True))


def along(blocks: Iterable[torch.Tensor], prompt: Seq[int], top: int) -> Iterator[tuple[tuple[int, float, int], ...]]:
    """(token id, logprob, rank) of every token of a prompt but the first and of the likeliest ones at its place.

    blocks: the logits [tokens, vocabulary] after each token of the prompt, in order. A token that is among the
    likeliest comes once.
    """
    at = 1
    for block in blocks:
        logprobs = _log_softmax(block)
        for row, best in zip(logprobs, _alternatives(logprobs, top), strict=True):
            if at == len(prompt):
                return
            own = float(row[prompt[at]])
            entries = {prompt[at]: (prompt[at], own, int((row > own).sum()) + 1)}
            for rank, (token, logprob) in enumerate(best, start=1):
                entries.setdefault(token, (token, logprob, rank))
            yield tuple(entries.values())
            at += 1


def _total(logits: torch.Tensor) -> torch.Tensor:
    """The logarithm of the sum of what each row of logits stands for; float64 [rows, 1].

    Exponentials in float32 are a few times as fast as in float64, and each is off by a ten-millionth of itself at most:
    so is their sum.
    """
    greatest = logits.amax(-1, keepdim=True)
    return block_sums((logits - greatest).exp_()).sum(-1, keepdim=True).log() + greatest


def _log_softmax(logits: torch.Tensor) -> torch.Tensor:
    exact = logits.double()
    return exact - exact.logsumexp(-1, keepdim=True)


def _alternatives(logprobs: torch.Tensor, top: int, total: torch.Tensor | None = None) -> list[list[tuple[int, float]]]:
    """The likeliest tokens of each row; total: what their numbers are too large by."""
    values, tokens = largest(logprobs, min(top, logprobs.shape[1]))
    if total is not None:
        values = values.double() - total
    rows = [list(zip(*row, strict=True)) for row in zip(tokens.tolist(), values.tolist(), strict=True)]
    if (values[:, 1:] == values[:, :-1]).any():
        return [sorted(row, key=lambda item: (-item[1], item[0])) for row in rows]
    return rows
