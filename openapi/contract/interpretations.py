"""Interpretations: how the documents are read where they contradict each other or say nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from openapi.contract.loading import check_members
from openapi.contract.resolution import read

if TYPE_CHECKING:
    from collections.abc import Mapping

MEMBERS = {"where", "question", "interpretation"}


@dataclass(frozen=True, slots=True)
class Interpretation:
    """One question that the documents leave open, and the answer that the data follows. `where`: document ids."""

    slug: str
    where: tuple[str, ...]
    question: str
    interpretation: str


@cache
def interpretations() -> Mapping[str, Interpretation]:
    """Every interpretation by its slug. Raises ContractError for a row with a member that means nothing."""
    rows = read("interpretations.yaml")
    for slug, row in rows.items():
        check_members(row, MEMBERS, f"interpretations.yaml: {slug}")
    return MappingProxyType(
        {
            slug: Interpretation(slug, tuple(row["where"]), row["question"], row["interpretation"])
            for slug, row in rows.items()
        }
    )
