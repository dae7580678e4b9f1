"""Log-probabilities of chosen tokens, of alternatives and of prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from reference_server.engine.device import torch
from reference_server.engine.sampling.block_sums import sum_blocks
from reference_server.engine.sampling.topk import topk
from reference_server.engine.transfers import upload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Sequence as Seq


class TokenScore(NamedTuple):  # created for every token, and cheaper than a dataclass
    """The score of a chosen token.

    logprob: log-probability of the token.
    top: (token id, logprob) of the most likely tokens, most likely first.
    """

    logprob: float
    top: tuple[tuple[int, float], ...]


class Scorer:
    """Scores of any tokens at the positions of some rows of logits [rows, vocabulary].

    top: number of alternatives; equally likely ones are in the order of their ids.
    extra_ids: tokens to append to the alternatives.
    """

    def __init__(self, logits: torch.Tensor, top: int, extra_ids: Seq[int] = ()) -> None:
        self._logprobs = _log_softmax(logits)
        self._top = _top_alternatives(self._logprobs, top)
        self._extra_ids = extra_ids

    def score(self, row: int, token: int) -> TokenScore:
        """Return the score of a token in a row."""
        logprobs = self._logprobs[row]
        named = dict(zip(self._extra_ids, logprobs[list(self._extra_ids)].tolist(), strict=True))
        return TokenScore(float(logprobs[token]), _append_extra(self._top[row], named))


class _Narrowed(NamedTuple):
    """What the scores of some rows are made of: a few numbers of each row of logits.

    chosen: log-probability of the chosen token, float64 [rows].
    values, tokens: the largest log-probabilities of each row, and their tokens.
    extra: log-probabilities of additional tokens, float64 [rows, tokens].
    """

    chosen: torch.Tensor
    values: torch.Tensor
    tokens: torch.Tensor
    extra: torch.Tensor


def narrow(logits: torch.Tensor, tokens: torch.Tensor, tops: Seq[int], extra_ids: Seq[Seq[int]] = ()) -> _Narrowed:
    """Return what `score_tokens` needs, on the device of the logits; tokens: [rows]."""
    total = _log_sum_exp(logits)
    chosen = (logits.gather(1, tokens[:, None]).double() - total)[:, 0]
    values, best = topk(logits, min(max(tops), logits.shape[1]))
    width = max(map(len, extra_ids), default=0)
    padded = [[*ids, *[0] * (width - len(ids))] for ids in extra_ids] if width else [[]] * len(logits)
    extra = logits.gather(1, upload(padded, logits.device)).double() - total if width else total[:, :0]
    return _Narrowed(chosen, values.double() - total, best, extra)


def score_tokens(
    logits: torch.Tensor, tokens: Seq[int], tops: Seq[int], extra_ids: Seq[Seq[int]] = ()
) -> list[TokenScore]:
    """Return the score of one token for each row of logits [rows, vocabulary].

    tops: number of alternatives for each row.
    extra_ids: tokens to append to the alternatives of each row.

    The score of a usable row does not depend on the rest of the batch.
    """
    return list_scores(narrow(logits, torch.tensor(tokens), tops, extra_ids), tops, extra_ids)


def list_scores(narrowed: Seq[torch.Tensor], tops: Seq[int], extra_ids: Seq[Seq[int]]) -> list[TokenScore]:
    """Return the scores from the numbers of `narrow`, in the memory of the host."""
    chosen, values, tokens, extra = narrowed
    best = [ranked[:top] for ranked, top in zip(_list_alternatives(values, tokens), tops, strict=True)]
    scores = [TokenScore(logprob, tuple(ranked)) for logprob, ranked in zip(chosen.tolist(), best, strict=True)]
    if not any(extra_ids):
        return scores
    return [
        score._replace(top=_append_extra(score.top, dict(zip(ids, row, strict=False))))
        for score, ids, row in zip(scores, extra_ids, extra.tolist(), strict=True)
    ]


class LazyScores:
    """The scores of one token for each row of logits, computed by `score_tokens` when the first is requested.

    narrowed: see `list_scores`; on an accelerator it replaces the logits, which the next pass overwrites.
    """

    def __init__(
        self,
        logits: torch.Tensor,
        tokens: Seq[int],
        tops: Seq[int],
        extra_ids: Seq[Seq[int]],
        narrowed: Seq[torch.Tensor] | None = None,
    ) -> None:
        self._arguments = logits, tokens, tops, extra_ids
        self._narrowed = narrowed
        self._scores: list[TokenScore] | None = None

    def at(self, row: int) -> TokenScore:
        """Return the score of a row.

        If the computation for all rows fails, each row is computed alone, so that only the row with the error fails.
        """
        if self._scores is None:
            logits, tokens, tops, extra_ids = self._arguments
            with torch.inference_mode():
                try:
                    if self._narrowed is not None:
                        self._scores = list_scores(self._narrowed, tops, extra_ids)
                    else:
                        self._scores = score_tokens(*self._arguments)
                except Exception:
                    return score_tokens(logits[row : row + 1], [tokens[row]], [tops[row]], [extra_ids[row]])[0]
        return self._scores[row]


class ScoreRef(NamedTuple):
    """A reference to the score of one row, which may not be computed yet."""

    scores: LazyScores
    row: int


def _append_extra(best: Seq[tuple[int, float]], logprobs: Mapping[int, float]) -> tuple[tuple[int, float], ...]:
    """Return the most likely tokens and the other ones of `logprobs`, each once."""
    listed = {token for token, _ in best}
    return (*best, *((token, logprob) for token, logprob in logprobs.items() if token not in listed))


def score_prompt(
    blocks: Iterable[torch.Tensor], prompt: Seq[int], top: int
) -> Iterator[tuple[tuple[int, float, int], ...]]:
    """Yield for each position but the first (token id, logprob, rank) of the prompt's token and the most likely ones.

    blocks: logits [tokens, vocabulary] after each token of the prompt, in order.

    A prompt token that is among the most likely ones is listed once.
    """
    at = 1
    for block in blocks:
        totals = _log_sum_exp(block)
        alternatives = _top_alternatives(block, top, totals)
        for row, total, best in zip(block, totals[:, 0].tolist(), alternatives, strict=True):
            if at == len(prompt):
                return
            own = float(row[prompt[at]])
            entries = {prompt[at]: (prompt[at], own - total, int((row > own).sum()) + 1)}
            for rank, (token, logprob) in enumerate(best, start=1):
                entries.setdefault(token, (token, logprob, rank))
            yield tuple(entries.values())
            at += 1


def _log_sum_exp(logits: torch.Tensor) -> torch.Tensor:
    """Return the logarithm of the sum of the exponentials of each row of logits, float64 [rows, 1].

    Exponentials in float32 are several times as fast as in float64. Each has a relative error of at most a
    ten-millionth, and so has their sum.
    """
    greatest = logits.amax(-1, keepdim=True)
    return sum_blocks((logits - greatest).exp_()).sum(-1, keepdim=True).log() + greatest


def _log_softmax(logits: torch.Tensor) -> torch.Tensor:
    exact = logits.double()
    return exact - exact.logsumexp(-1, keepdim=True)


def _top_alternatives(
    logprobs: torch.Tensor, top: int, total: torch.Tensor | None = None
) -> list[list[tuple[int, float]]]:
    """Return the most likely tokens of each row, with their values; total: subtracted from the values."""
    values, tokens = topk(logprobs, min(top, logprobs.shape[1]))
    return _list_alternatives(values if total is None else values.double() - total, tokens)


def _list_alternatives(values: torch.Tensor, tokens: torch.Tensor) -> list[list[tuple[int, float]]]:
    """Return (token, value) of each row, most likely first; equally likely ones are in the order of their ids."""
    rows = [list(zip(*row, strict=True)) for row in zip(tokens.tolist(), values.tolist(), strict=True)]
    if (values[:, 1:] == values[:, :-1]).any():
        return [sorted(row, key=lambda item: (-item[1], item[0])) for row in rows]
    return rows
