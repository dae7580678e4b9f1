"""Sampler: logits to tokens, for all rows of a batch at once, in float32 on the CPU.

The order is fixed: penalties, temperature, min_p, top_k, top_p, draw. What is drawn for a sequence depends on its
own logits, parameters, seed and number of tokens, never on the rest of the batch.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from .device import torch

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq

    from .params import SamplingParams

# Sorting a large vocabulary costs more than a forward pass: the set that top_p keeps is looked for among this
# many tokens first.
CANDIDATES = 1024

# No finite parameter may make a logit infinite or NaN: one request would end everybody's.
EXTREME = 1e30


def uniform(seed: int, index: int) -> float:
    """The number in [0, 1) that a seed (0 to 2**64 - 1) draws for its token number `index`, for ever."""
    digest = blake2b(seed.to_bytes(8, "little") + index.to_bytes(8, "little"), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) * 2.0**-53


def stream_seed(seed: int, choice: int) -> int:
    """The seed of one of the choices that a request's seed stands for, for ever; the first one's is the request's."""
    if choice == 0:
        return seed
    digest = blake2b(
        seed.to_bytes(8, "little") + choice.to_bytes(8, "little"), digest_size=8, person=b"choice"
    ).digest()
    return int.from_bytes(digest, "little")


class Sampler:
    """The parameters and the token counts of every slot, and the draw.

    Penalties follow vLLM: the repetition penalty looks at prompt and generated tokens, the other two at
    generated tokens alone.
    """

    def __init__(self, slots: int, vocabulary_size: int) -> None:
        self._vocabulary_size = vocabulary_size
        self._temperature = torch.ones(slots)
        self._top_p = torch.ones(slots, dtype=torch.float64)
        self._top_k = torch.zeros(slots, dtype=torch.long)
        self._min_p = torch.zeros(slots)
        self._presence = torch.zeros(slots, dtype=torch.float64)
        self._frequency = torch.zeros(slots, dtype=torch.float64)
        self._repetition = torch.ones(slots, dtype=torch.float64)
        self._penalised = torch.zeros(slots, dtype=torch.bool)
        self._seen = torch.zeros(slots, vocabulary_size, dtype=torch.bool)
        self._counts = torch.zeros(slots, vocabulary_size)

    def open(self, slot: int, params: SamplingParams, prompt: Seq[int]) -> None:
        """Prepare a slot for a new sequence; numbers too extreme to compute with count as EXTREME."""
        narrows = 0 < params.top_k < self._vocabulary_size
        self._temperature[slot] = min(params.temperature, EXTREME)
        self._top_p[slot] = params.top_p
        self._top_k[slot] = params.top_k if narrows else self._vocabulary_size
        self._min_p[slot] = params.min_p
        self._presence[slot] = max(-EXTREME, min(params.presence_penalty, EXTREME))
        self._frequency[slot] = max(-EXTREME, min(params.frequency_penalty, EXTREME))
        self._repetition[slot] = max(1 / EXTREME, min(params.repetition_penalty, EXTREME))
        self._penalised[slot] = params.penalised
        if params.penalised:
            self._seen[slot] = False
            self._seen[slot, torch.tensor(prompt)] = True
            self._counts[slot] = 0

    def sample(self, logits: torch.Tensor, slots: Seq[int], uniforms: Seq[float]) -> list[int]:
        """One token for each row of logits [rows, vocabulary]; a slot and a uniform number for each row.

        The token is counted for the slot's penalties. A row must hold at least one finite logit and neither
        NaN nor +inf: see `unusable`.
        """
        at = torch.tensor(slots)
        logits, counted = self._after_penalties(logits, at)
        tokens = logits.argmax(-1)
        drawn = (self._temperature[at] > 0).nonzero()[:, 0]
        if len(drawn):
            random = torch.tensor(uniforms, dtype=torch.float64)[drawn]
            tokens[drawn] = self._draw(logits[drawn], at[drawn], random)
        if len(counted):
            self._count(at[counted], tokens[counted])
        return [int(token) for token in tokens.tolist()]

    def penalised(self, logits: torch.Tensor, slots: Seq[int]) -> torch.Tensor:
        """The logits [rows, vocabulary] from which the slots' tokens are chosen."""
        return self._after_penalties(logits, torch.tensor(slots))[0]

    def count(self, slots: Seq[int], tokens: Seq[int]) -> None:
        """Count tokens that were chosen elsewhere, one for each slot."""
        self._count(torch.tensor(slots), torch.tensor(tokens))

    def copy(self, moves: Seq[tuple[int, int]]) -> None:
        """Give slots the counts of others; moves: (from, to), none is both."""
        sources, targets = torch.tensor(moves).unbind(1)
        self._seen[targets] = self._seen[sources]
        self._counts[targets] = self._counts[sources]

    def _count(self, at: torch.Tensor, tokens: torch.Tensor) -> None:
        self._seen[at, tokens] = True
        self._counts[at, tokens] += 1

    def _after_penalties(self, logits: torch.Tensor, at: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(the logits after penalties, the rows that have any)."""
        penalised = self._penalised[at].nonzero()[:, 0]
        if len(penalised):
            logits = logits.clone()
            logits[penalised] = self._penalise(logits[penalised], at[penalised])
        return logits, penalised

    def _penalise(self, logits: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        """The rows' logits after penalties, computed in float64 and moved so that the largest is 0."""
        logits = logits.double()
        repetition = self._repetition[at, None]
        repeated = torch.where(logits > 0, logits / repetition, logits * repetition)
        logits = torch.where(self._seen[at], repeated, logits)
        counts = self._counts[at]
        logits = logits - self._frequency[at, None] * counts - self._presence[at, None] * (counts > 0)
        return (logits - logits.amax(-1, keepdim=True)).float()

    def _draw(self, logits: torch.Tensor, at: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
        # The largest logit becomes 0 before the division, so that a tiny temperature cannot overflow.
        scaled = (logits - logits.amax(-1, keepdim=True)) / self._temperature[at, None]
        weights = scaled.exp()  # the greatest is 1
        min_p = self._min_p[at]
        if min_p.any():
            weights = torch.where(weights < min_p[:, None], 0, weights)
        top_k, top_p = self._top_k[at], self._top_p[at]
        narrow = (top_k < self._vocabulary_size) | (top_p < 1)
        tokens = torch.empty(len(at), dtype=torch.long)
        wide = (~narrow).nonzero()[:, 0]
        if len(wide):
            tokens[wide] = _invert(weights[wide], uniforms[wide])
        rows = narrow.nonzero()[:, 0]
        candidates = min(CANDIDATES, self._vocabulary_size)
        while len(rows):
            best, ids = _most_likely(weights[rows], candidates)
            kept, settled = _narrow(best, weights[rows], top_k[rows], top_p[rows])
            choice = _invert(kept, uniforms[rows])
            tokens[rows] = ids.gather(1, choice[:, None])[:, 0]
            rows, candidates = rows[~settled], self._vocabulary_size
        return tokens


def unusable(logits: torch.Tensor) -> list[int]:
    """Rows of logits [rows, vocabulary] from which nothing can be sampled: NaN, +inf, or all -inf."""
    rows: list[int] = (~logits.amax(-1).isfinite()).nonzero()[:, 0].tolist()
    return rows


def _most_likely(weights: torch.Tensor, candidates: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest weights of each row, largest first, and their token ids."""
    if candidates < weights.shape[1]:
        best = weights.topk(candidates, sorted=True)
        return best.values, best.indices
    ordered = weights.sort(descending=True, stable=True)
    return ordered.values, ordered.indices


def _narrow(
    best: torch.Tensor, weights: torch.Tensor, top_k: torch.Tensor, top_p: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """(best with zeros where top_k and then top_p remove a token, whether the candidates were enough)."""
    count = best.shape[1]
    by_rank = torch.where(torch.arange(count)[None] < top_k[:, None], best, 0).double()
    reached = by_rank.cumsum(-1)
    all_kept = top_k >= weights.shape[1]
    total = torch.where(all_kept, weights.double().sum(-1), reached[:, -1])
    target = top_p * total
    # A token stays while those before it have not reached the target: so the first always stays.
    kept = torch.where(reached - by_rank < target[:, None], by_rank, 0)
    settled = torch.full_like(all_kept, count == weights.shape[1])
    return kept, settled | torch.where(all_kept, reached[:, -1] >= target, top_k <= count)


def _invert(weights: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """For each row the first index at which the share of the weights so far exceeds the uniform number.

    There is one, because a number of at most 1 - 2**-53 times the total is below the total in float64 too.
    """
    reached = weights.double().cumsum(-1)
    return torch.searchsorted(reached, uniforms[:, None] * reached[:, -1:], right=True)[:, 0]
