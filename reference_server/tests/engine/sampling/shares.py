"""Measure the share of each token over a grid of uniform numbers, which is its probability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from reference_server.engine.device import torch
from reference_server.engine.sampling.sampler import Sampler

if TYPE_CHECKING:
    from reference_server.engine.params import SamplingParams

GRID: Final = 4000
"""Uniform numbers by which shares are measured."""


def draw_logits(vocabulary: int, seed: int, scale: float = 3.0) -> torch.Tensor:
    """Return normally distributed logits of a vocabulary."""
    return torch.randn(vocabulary, generator=torch.Generator().manual_seed(seed)) * scale


def measure_shares(
    logits: torch.Tensor, params: SamplingParams, prompt: list[int], output: list[int], points: int = GRID
) -> torch.Tensor:
    """Return the share of each token over a grid of uniform numbers: its probability, to one part in `points`."""
    sampler = Sampler(1, len(logits))
    sampler.reset_slot(0, params, prompt)
    for token in output:
        forced = torch.full_like(logits, -math.inf)
        forced[token] = 0.0
        assert [token] == sampler.sample(forced[None], [0], [0.5])
    grid = [(index + 0.5) / points for index in range(points)]
    tokens = sampler.sample(logits.expand(points, -1), [0] * points, grid)
    return torch.bincount(torch.tensor(tokens), minlength=len(logits)) / points
