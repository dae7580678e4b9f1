"""The largest values of each row, without sorting the whole vocabulary."""

from __future__ import annotations

import numpy

from reference_server.engine.device import torch

GROUP_SIZE = 16


def topk(values: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (the `count` largest of each row of values [rows, columns] in descending order, their columns).

    Of equal values, any may come first, or be included if not all fit; the selection depends only on the row. Columns
    are examined in groups: the largest values are in the `count` groups with the largest maximum.
    """
    groups = values.shape[1] // GROUP_SIZE
    if values.shape[1] % GROUP_SIZE or groups < 2 * count:
        return _sorted_topk(values, count)
    # A group has every groups-th column: reducing over the middle dimension is vectorised.
    grouped = values.view(len(values), GROUP_SIZE, groups)
    chosen = _topk_columns(grouped.amax(1), count)
    best, at = _sorted_topk(grouped.gather(2, chosen[:, None].expand(-1, GROUP_SIZE, -1)).flatten(1), count)
    return best, chosen.gather(1, at % count) + at // count * groups


def _sorted_topk(values: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the `count` largest values of each row in descending order, and their columns."""
    columns = _topk_columns(values, count)
    best, order = values.gather(1, columns).sort(-1, descending=True)
    return best, columns.gather(1, order)


def _topk_columns(values: torch.Tensor, count: int) -> torch.Tensor:
    """Return the columns of the `count` largest values, unordered.

    On a CPU, numpy is several times as fast as torch.topk.
    """
    if values.device.type != "cpu":
        return values.topk(min(count, values.shape[1]), sorted=False).indices
    width = values.shape[1]
    kept = numpy.argpartition(values.numpy(), max(width - count - 1, 0), axis=1)[:, width - count :]
    return torch.from_numpy(numpy.ascontiguousarray(kept))
