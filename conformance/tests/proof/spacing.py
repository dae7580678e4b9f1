"""Choose a few of many assertions or judgements."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


def space_evenly(items: Sequence[T], most: int) -> list[T]:
    """Return items that are evenly spaced, the first and the last among them. `most`: at most how many."""
    if len(items) <= most:
        return list(items)
    return [items[round(at * (len(items) - 1) / (most - 1))] for at in range(most)]
