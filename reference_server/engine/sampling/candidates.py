"""The most likely tokens of each row, the filters on them, and the draw from their weights."""

from __future__ import annotations

from reference_server.engine.device import torch
from reference_server.engine.sampling.block_sums import BLOCK, split_blocks, sum_blocks
from reference_server.engine.sampling.topk import topk

MAX_UNBLOCKED_COLUMNS = 1024  # sums of blocks are faster for longer rows


def sort_candidates(values: torch.Tensor, candidates: int, least: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the largest values of each row in descending order, and their token ids.

    Equal values are in the order of their ids; if not all fit, any of them may be included. least: values up to this
    one may be in any order.
    """
    if candidates == values.shape[1]:
        ordered = values.sort(descending=True, stable=True)
        return ordered.values, ordered.indices
    best, ids = topk(values, candidates)
    is_tied = (best[:, 1:] == best[:, :-1]) & (best[:, 1:] > least)
    if values.device.type != "cpu" or is_tied.any():  # an accelerator sorts sooner than it answers
        ids, order = ids.sort(-1)
        best, order = best.gather(1, order).sort(stable=True, dim=-1, descending=True)
        ids = ids.gather(1, order)
    return best, ids


def filter_candidates(
    best: torch.Tensor, top_k: torch.Tensor, top_p: torch.Tensor, total: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (values with zeros where top_k and then top_p remove a token, whether the candidates were sufficient).

    total: total weight that top_p is a share of; None: that of all tokens within top_k.
    """
    by_rank = torch.where(torch.arange(best.shape[1], device=best.device)[None] < top_k[:, None], best, 0).double()
    reached = by_rank.cumsum(-1)
    whole = reached[:, -1] if total is None else total
    # Keep a token if those before it have not reached the target; so the first is always kept.
    kept = torch.where(reached - by_rank < (top_p * whole)[:, None], by_rank, 0)
    # The last candidate must be less likely than all kept ones, or equally likely tokens may be missing.
    return kept, (kept > 0).sum(-1) <= (best > best[:, -1:]).sum(-1)


def invert_cdf(weights: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
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
    inside = split_blocks(weights)[torch.arange(len(weights), device=block.device), block[:, 0]]
    at = torch.searchsorted(before + inside.double().cumsum(-1), wanted, right=True)
    # Summed in another order, a block can end below its sum: then choose its last possible token.
    last = torch.where(inside > 0, torch.arange(BLOCK, device=inside.device), 0).amax(-1, keepdim=True)
    return (block * BLOCK + torch.minimum(at, last))[:, 0]
