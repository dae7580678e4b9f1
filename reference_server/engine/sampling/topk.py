"""The largest numbers of each row, found without sorting a vocabulary."""

from __future__ import annotations

import numpy

from reference_server.engine.device import torch

GROUP_SIZE = 16


def topk(values: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(the `count` largest of each row of values [rows, columns], largest first, their columns); values are on the CPU.

    Of equal ones, any may come first, or alone where not all fit in; which, depends on the row alone. The columns are
    looked at in groups first: what is among the largest stands in one of the `count` groups with the largest maximum.
    """
    groups = values.shape[1] // GROUP_SIZE
    if values.shape[1] % GROUP_SIZE or groups < 2 * count:
        return _sorted_topk(values, count)
    grouped = values.view(
        len(values), GROUP_SIZE, groups
    )  # a group is every column so many apart: maxima vectorise then
    chosen = _topk_columns(grouped.amax(1), count)
    found, at = _sorted_topk(grouped.gather(2, chosen[:, None].expand(-1, GROUP_SIZE, -1)).flatten(1), count)
    return found, chosen.gather(1, at % count) + at // count * groups


def _sorted_topk(values: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    columns = _topk_columns(values, count)
    found, order = values.gather(1, columns).sort(-1, descending=True)
    return found, columns.gather(1, order)


def _topk_columns(values: torch.Tensor, count: int) -> torch.Tensor:
    """The columns of the `count` largest in no order; numpy selects several times as fast as torch's own topk."""
    width = values.shape[1]
    kept = numpy.argpartition(values.numpy(), max(width - count - 1, 0), axis=1)[:, width - count :]
    return torch.from_numpy(numpy.ascontiguousarray(kept))
