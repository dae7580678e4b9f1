"""The draw from the smallest set of tokens that reaches top_p, in a large vocabulary and without sorting it.

If many tokens are about equally likely, top_p keeps thousands of them. Sorting 150,000 weights takes as long as a
quarter of a forward pass of a model with 600 million parameters, so only two narrow ranges of weights are sorted: the
one in which top_p is reached, and the one in which the drawn number lies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reference_server.engine.device import torch

MANTISSA_BITS = 16  # of a float32 that are ignored: weights in a range differ by less than a hundredth


def draw_from_nucleus(weights: torch.Tensor, total: float, top_p: float, uniform: float) -> int:
    """Return the token whose share of the kept tokens contains `uniform`, with the most likely tokens first.

    Equally likely tokens are in the order of their ids. A token is kept if the more likely ones together do not reach
    the share `top_p` of `total`.

    weights: float32 [vocabulary], not negative, and at least one of them positive.
    """
    values: NDArray[numpy.float32] = weights.numpy()
    # The bits of floats that are not negative are in the order of the floats.
    ranges = values.view(numpy.int32) >> MANTISSA_BITS
    reached = numpy.bincount(ranges, weights=values)[::-1].cumsum()  # the greatest weights first
    limit = top_p * total
    last = min(int(reached.searchsorted(limit)), int(reached.searchsorted(reached[-1])))
    _, before, inside = _sort_range(values, ranges, reached, last)
    kept: NDArray[numpy.bool_] = before + inside.cumsum() - inside < limit
    wanted = uniform * (before + float(inside[kept].sum()))
    drawn = min(int(reached.searchsorted(wanted, side="right")), last)
    tokens, before, inside = _sort_range(values, ranges, reached, drawn)
    if drawn == last:
        tokens, inside = tokens[kept], inside[kept]
    at = int((before + inside.cumsum()).searchsorted(wanted, side="right"))
    # Summed in another order, a range can end below its sum: then choose its last possible token.
    return int(tokens[min(at, int(numpy.count_nonzero(inside)) - 1)])


def _sort_range(
    values: NDArray[numpy.float32], ranges: NDArray[numpy.int32], reached: NDArray[numpy.float64], place: int
) -> tuple[NDArray[numpy.intp], float, NDArray[numpy.float64]]:
    """Return (tokens of a range in descending order, the sum of all greater weights, their weights)."""
    tokens = numpy.flatnonzero(ranges == len(reached) - 1 - place)
    order: NDArray[numpy.intp] = numpy.argsort(-values[tokens], kind="stable")
    tokens = tokens[order]
    return tokens, float(reached[place - 1]) if place else 0.0, values[tokens].astype(numpy.float64)
