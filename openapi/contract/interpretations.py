"""Interpretations: how this project settles contradictions and gaps in the documents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from openapi.contract.authority import Ground, ground_of
from openapi.contract.loading import check_keys
from openapi.contract.resolution import read

if TYPE_CHECKING:
    from collections.abc import Mapping

KEYS = {"where", "question", "interpretation", "ground"}


@dataclass(frozen=True, slots=True)
class Interpretation:
    """A question that the documents leave open, and the answer that the data follows.

    where: document ids.
    ground: why facts that cite it may have another level than their text alone demands.
    """

    slug: str
    where: tuple[str, ...]
    question: str
    interpretation: str
    ground: Ground | None = None


@cache
def interpretations() -> Mapping[str, Interpretation]:
    """Return every interpretation by its slug. Raises ContractError for an unknown key."""
    rows = read("interpretations.yaml")
    for slug, row in rows.items():
        check_keys(row, KEYS, f"interpretations.yaml: {slug}")
    return MappingProxyType(
        {
            slug: Interpretation(slug, tuple(row["where"]), row["question"], row["interpretation"], ground_of(slug))
            for slug, row in rows.items()
        }
    )
