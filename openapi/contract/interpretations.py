"""Interpretations: how this project settles contradictions and gaps in the documents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from openapi.contract.authority import Ground, parse_ground
from openapi.contract.loading import check_keys
from openapi.contract.resolution import read
from openapi.contract.tree.yaml_file import ContractError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KEYS = {"where", "question", "interpretation", "ground"}
REQUIRED = ("question", "interpretation")


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
    """Return every interpretation of this package by its slug. Raises ContractError for an unknown key."""
    return MappingProxyType(parse_interpretations(read("interpretations.yaml"), (), "interpretations.yaml: "))


def parse_interpretations(rows: Mapping[str, Any], where: Sequence[str], prefix: str) -> dict[str, Interpretation]:
    """Parse interpretations as data. Raises ContractError for an unknown or missing key, and an unknown ground.

    where: the document ids of a row without the key `where`.
    prefix: of the place in an error.
    """
    parsed = {}
    for slug, row in rows.items():
        place = f"{prefix}{slug}"
        if not isinstance(row, dict):
            raise ContractError(f"{place}: invalid interpretation: expected {', '.join(sorted(KEYS))}")
        check_keys(row, KEYS, place)
        if missing := [key for key in REQUIRED if not row.get(key)]:
            raise ContractError(f"{place}: {', '.join(missing)} missing")
        try:
            ground = parse_ground(row)
        except ContractError as error:
            raise ContractError(f"{place}: {error}") from error
        documents = tuple(row.get("where", where))
        parsed[slug] = Interpretation(slug, documents, row["question"], row["interpretation"], ground)
    return parsed
