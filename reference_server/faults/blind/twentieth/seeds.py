"""Blind faults of seeds: next to top_k, and next to best_of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import dropping, is_whole, when
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

LARGEST: Final = 2**31 - 1
MOST_CHOICES: Final = 128


def _has_top_k(sent: Json) -> bool:
    return is_whole(sent.get("top_k"), 2, LARGEST) and is_whole(sent.get("seed"), 0, LARGEST)


def _has_seed(sent: Json) -> bool:
    return is_whole(sent.get("seed"), 0, LARGEST) and is_whole(sent.get("best_of"), 1, MOST_CHOICES)


# Violates seed: equal requests with it have equal answers. The kernel that samples knows no seed of a request.
seeds_lost_next_to_top_k = when(
    "seeds-lost-next-to-top-k",
    "A seed has no effect if the request has a top_k above 1.",
    _has_top_k,
    dropping("seed"),
    applies_to=has_parameters("seed", "top_k"),
)
# Violates best_of: this number of answers is generated.
best_of_lost_next_to_seeds = when(
    "best-of-lost-next-to-seeds",
    "A best_of has no effect if the request has a seed.",
    _has_seed,
    dropping("best_of"),
    applies_to=has_parameters("seed", "best_of"),
)
