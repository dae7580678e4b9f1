"""The sampler: logits to tokens, for all rows of a batch at once, in float32 on the CPU.

The order is fixed: penalties, temperature, min_p, top_k, top_p, draw. The result for a sequence depends on its own
logits, parameters, seed and number of tokens, never on the rest of the batch.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from reference_server.engine.device import torch
from reference_server.engine.sampling.block_sums import BLOCK, split_blocks, sum_blocks
from reference_server.engine.sampling.nucleus import draw_from_nucleus
from reference_server.engine.sampling.penalties import MAX_MAGNITUDE, Penalties
from reference_server.engine.sampling.topk import topk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Seq

    from reference_server.engine.params import SamplingParams

# Sorting a large vocabulary costs more than a forward pass: the tokens that top_k and top_p keep are searched for among
# these numbers of most likely tokens first.
CANDIDATES = (32, 64, 128, 1024)
INITIAL_CANDIDATES = 64
MAX_SORTED = 4096  # weights that are sorted faster than they are divided into ranges
MAX_UNBLOCKED_COLUMNS = 1024  # sums of blocks are faster for longer rows


def draw_uniform(seed: int, index: int) -> float:
    """Return the number in [0, 1) that a seed (0 to 2**64 - 1) gives for its token number `index`.

    It must not change between releases.
    """
    digest = blake2b(seed.to_bytes(8, "little") + index.to_bytes(8, "little"), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) * 2.0**-53


def derive_seed(seed: int, choice: int) -> int:
    """Return the seed of a choice from the seed of its request; for the first choice they are equal.

    It must not change between releases.
    """
    if choice == 0:
        return seed
    digest = blake2b(
        seed.to_bytes(8, "little") + choice.to_bytes(8, "little"), digest_size=8, person=b"choice"
    ).digest()
    return int.from_bytes(digest, "little")


class Sampler:
    """The sampling parameters and token counts of every slot, and the choice of tokens.

    As in vLLM, the repetition penalty applies to prompt and generated tokens, the other two to generated tokens only.
    """

    def __init__(self, slots: int, vocabulary_size: int) -> None:
        self._vocabulary_size = vocabulary_size
        self._temperature = torch.ones(slots)
        self._top_p = torch.ones(slots, dtype=torch.float64)
        self._top_k = torch.zeros(slots, dtype=torch.long)
        self._min_p = torch.zeros(slots)
        # Copies of what the tensors contain: an operator on one row costs as much as one on many rows.
        self._is_sampled = [True] * slots
        self._has_top_k = [False] * slots
        self._has_penalties = [False] * slots
        self._penalties = Penalties(slots)

    def reset_slot(self, slot: int, params: SamplingParams, prompt: Seq[int]) -> None:
        """Prepare a slot for a new sequence; parameters are limited to MAX_MAGNITUDE."""
        counted = 0 < params.top_k < self._vocabulary_size
        self._temperature[slot] = min(params.temperature, MAX_MAGNITUDE)
        self._top_p[slot] = params.top_p
        self._top_k[slot] = params.top_k if counted else self._vocabulary_size
        self._min_p[slot] = params.min_p
        self._is_sampled[slot] = bool(self._temperature[slot] > 0)
        self._has_top_k[slot] = counted
        self._has_penalties[slot] = params.penalised
        if params.penalised:
            self._penalties.reset_slot(slot, params, prompt)

    def sample(self, logits: torch.Tensor, slots: Seq[int], uniforms: Seq[float]) -> list[int]:
        """Return one token for each row of logits [rows, vocabulary], given the slot and a uniform number of each row.

        The tokens are counted for the penalties of their slots. A row must contain at least one finite logit, no NaN
        and no +inf: see `find_unusable_rows`.
        """
        logits, counted = self._penalise(logits, slots)
        drawn = [row for row, slot in enumerate(slots) if self._is_sampled[slot]]
        if len(drawn) == len(slots):
            tokens = self._draw(logits, slots, uniforms)
        else:
            tokens = logits.argmax(-1)
            if drawn:
                tokens[drawn] = self._draw(
                    logits[drawn], [slots[row] for row in drawn], [uniforms[row] for row in drawn]
                )
        chosen: list[int] = tokens.tolist()
        if counted:
            self._penalties.count_tokens([slots[row] for row in counted], [chosen[row] for row in counted])
        return chosen

    def apply_penalties(self, logits: torch.Tensor, slots: Seq[int]) -> torch.Tensor:
        """Return the logits [rows, vocabulary] after the penalties of their slots."""
        return self._penalise(logits, slots)[0]

    def count_tokens(self, slots: Seq[int], tokens: Seq[int]) -> None:
        """Count tokens that were chosen elsewhere, one per slot."""
        self._penalties.count_tokens(slots, tokens)

    def copy(self, moves: Seq[tuple[int, int]]) -> None:
        """Copy token counts between slots; moves: (from, to), no slot is both."""
        self._penalties.copy(moves)

    def _penalise(self, logits: torch.Tensor, slots: Seq[int]) -> tuple[torch.Tensor, list[int]]:
        """Return (logits after penalties, rows that have penalties)."""
        rows = [row for row, slot in enumerate(slots) if self._has_penalties[slot]]
        if len(rows) == len(slots):
            logits = logits.clone()
            self._penalties.apply(logits, slots)
        elif rows:
            logits = logits.clone()
            some = logits[rows]
            self._penalties.apply(some, [slots[row] for row in rows])
            logits[rows] = some
        return logits, rows

    def _draw(self, logits: torch.Tensor, slots: Seq[int], drawn: Seq[float]) -> torch.Tensor:
        at, uniforms = torch.tensor(slots), torch.tensor(drawn, dtype=torch.float64)
        limited = [row for row, slot in enumerate(slots) if self._has_top_k[slot]]
        if len(limited) == len(slots):
            return self._draw_from_top_k(logits, at, uniforms)
        if not limited:
            return self._draw_from_all(logits, at, uniforms)
        unlimited = [row for row, slot in enumerate(slots) if not self._has_top_k[slot]]
        tokens = torch.empty(len(at), dtype=torch.long)
        tokens[limited] = self._draw_from_top_k(logits[limited], at[limited], uniforms[limited])
        tokens[unlimited] = self._draw_from_all(logits[unlimited], at[unlimited], uniforms[unlimited])
        return tokens

    def _draw_from_top_k(self, logits: torch.Tensor, at: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
        """Draw for rows with top_k: only the largest logits of the vocabulary are examined."""
        rows, tokens = torch.arange(len(at)), torch.empty(len(at), dtype=torch.long)
        for candidates in self._candidate_counts(int(self._top_k[at].max())):
            best, ids = _sort_candidates(logits, candidates, -torch.inf)
            weights = self._weights(best, best[:, :1], at)
            kept, settled = _filter_candidates(weights, self._top_k[at], self._top_p[at])
            tokens[rows] = ids.gather(1, _invert_cdf(kept, uniforms)[:, None])[:, 0]
            settled |= candidates == self._vocabulary_size
            if settled.all():
                break
            rows, logits, at, uniforms = (tensor[~settled] for tensor in (rows, logits, at, uniforms))
        return tokens

    def _draw_from_all(self, logits: torch.Tensor, at: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
        """Draw for rows without top_k: every token counts for the total that top_p is a share of."""
        weights = self._weights(logits, logits.amax(-1, keepdim=True), at)
        filtered = self._top_p[at] < 1
        if not filtered.any():
            return _invert_cdf(weights, uniforms)
        tokens = torch.empty(len(at), dtype=torch.long)
        if not filtered.all():
            tokens[~filtered] = _invert_cdf(weights[~filtered], uniforms[~filtered])
        rows = filtered.nonzero()[:, 0]
        weights, at, uniforms = weights[rows], at[rows], uniforms[rows]
        total = sum_blocks(weights).sum(-1)
        for candidates in self._candidate_counts(INITIAL_CANDIDATES - 1):
            if candidates > MAX_SORTED:
                shares = zip(weights, total.tolist(), self._top_p[at].tolist(), uniforms.tolist(), strict=True)
                tokens[rows] = torch.tensor([draw_from_nucleus(*share) for share in shares])
                break
            best, ids = _sort_candidates(weights, candidates, 0)
            kept, settled = _filter_candidates(best, self._top_k[at], self._top_p[at], total)
            tokens[rows] = ids.gather(1, _invert_cdf(kept, uniforms)[:, None])[:, 0]
            settled |= candidates == self._vocabulary_size
            if settled.all():
                break
            rows, weights, at, uniforms, total = (tensor[~settled] for tensor in (rows, weights, at, uniforms, total))
        return tokens

    def _weights(self, logits: torch.Tensor, largest_logit: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        """Return the weights of tokens in the draw, relative to the most likely token, after temperature and min_p."""
        # Subtract the largest logit before the division, so that a tiny temperature cannot overflow.
        weights = (logits - largest_logit).div_(self._temperature[at, None]).exp_()
        thresholds = self._min_p[at, None]
        return torch.where(weights < thresholds, 0, weights) if thresholds.any() else weights

    def _candidate_counts(self, expected: int) -> Iterator[int]:
        """Yield increasing numbers of candidates to examine; most: number of tokens that are likely to be kept."""
        first = next((candidate for candidate in CANDIDATES if candidate > expected), self._vocabulary_size)
        for candidates in sorted({first, CANDIDATES[-1]}):
            if first <= candidates < self._vocabulary_size:
                yield candidates
        yield self._vocabulary_size


def find_unusable_rows(logits: torch.Tensor) -> list[int]:
    """Return the rows of logits [rows, vocabulary] that cannot be sampled from: with NaN or +inf, or all -inf."""
    rows: list[int] = (~logits.amax(-1).isfinite()).nonzero()[:, 0].tolist()
    return rows


def _sort_candidates(values: torch.Tensor, candidates: int, least: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the largest values of each row in descending order, and their token ids.

    Equal values are in the order of their ids; if not all fit, any of them may be included. least: values up to this
    one may be in any order.
    """
    if candidates == values.shape[1]:
        ordered = values.sort(descending=True, stable=True)
        return ordered.values, ordered.indices
    best, ids = topk(values, candidates)
    if ((best[:, 1:] == best[:, :-1]) & (best[:, 1:] > least)).any():
        ids, order = ids.sort(-1)
        best, order = best.gather(1, order).sort(stable=True, dim=-1, descending=True)
        ids = ids.gather(1, order)
    return best, ids


def _filter_candidates(
    best: torch.Tensor, top_k: torch.Tensor, top_p: torch.Tensor, total: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (values with zeros where top_k and then top_p remove a token, whether the candidates were sufficient).

    total: total weight that top_p is a share of; None: that of all tokens within top_k.
    """
    by_rank = torch.where(torch.arange(best.shape[1])[None] < top_k[:, None], best, 0).double()
    reached = by_rank.cumsum(-1)
    whole = reached[:, -1] if total is None else total
    # Keep a token if those before it have not reached the target; so the first is always kept.
    kept = torch.where(reached - by_rank < (top_p * whole)[:, None], by_rank, 0)
    # The last candidate must be less likely than all kept ones, or equally likely tokens may be missing.
    return kept, (kept > 0).sum(-1) <= (best > best[:, -1:]).sum(-1)


def _invert_cdf(weights: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Return for each row the first index at which the cumulative share of the weights exceeds the uniform number.

    It exists, because the product of the total and a number of at most 1 - 2**-53 is below the total in float64 too. In
    a long row the block is found first, because sums of blocks are fast.
    """
    if weights.shape[1] <= MAX_UNBLOCKED_COLUMNS:
        reached = weights.double().cumsum(-1)
        return torch.searchsorted(reached, uniforms[:, None] * reached[:, -1:], right=True)[:, 0]
    reached = sum_blocks(weights).cumsum(-1)
    wanted = uniforms[:, None] * reached[:, -1:]
    block = torch.searchsorted(reached, wanted, right=True)
    before = torch.where(block > 0, reached.gather(1, (block - 1).clamp(min=0)), 0)
    inside = split_blocks(weights)[torch.arange(len(weights)), block[:, 0]]
    at = torch.searchsorted(before + inside.double().cumsum(-1), wanted, right=True)
    # Summed in another order, a block can end below its sum: then choose its last possible token.
    last = torch.where(inside > 0, torch.arange(BLOCK), 0).amax(-1, keepdim=True)
    return (block * BLOCK + torch.minimum(at, last))[:, 0]
