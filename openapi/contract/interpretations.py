"""Readings: how the documents are read where they contradict each other or say nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from openapi.contract.loading import check_members
from openapi.contract.resolution import read

if TYPE_CHECKING:
    from collections.abc import Mapping

MEMBERS = {"where", "question", "reading"}


@dataclass(frozen=True, slots=True)
class Reading:
    """One question that the documents leave open, and the answer that the data follows. `where`: document ids."""

    slug: str
    where: tuple[str, ...]
    question: str
    reading: str


@cache
def readings() -> Mapping[str, Reading]:
    """Every reading by its slug. Raises ContractError for a row with a member that means nothing."""
    rows = read("readings.yaml")
    for slug, row in rows.items():
        check_members(row, MEMBERS, f"readings.yaml: {slug}")
    return MappingProxyType(
        {slug: Reading(slug, tuple(row["where"]), row["question"], row["reading"]) for slug, row in rows.items()}
    )
