"""Rulings: the rules across members that a description holds, read back from it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openapi.contract.resolution import members
from openapi.description.description import REQUEST

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Ruling:
    """One rule. `about`: the parameter that it is told of; `demand`: its schema as JSON, "" where words alone tell."""

    id: str
    summary: str
    about: str
    demand: str


def rulings(document: Mapping[str, Any]) -> dict[str, Ruling]:
    """Every rule of a description by its id: those in its schemas, then those in words."""
    schemas = document["components"]["schemas"]
    found: dict[str, Ruling] = {}
    for key, mark, holder in members(schemas):
        if key == "x-rule":
            kept = {name: value for name, value in holder.items() if not name.startswith("x-")}
            said = kept[mark["of"]] if "of" in mark else kept
            source = holder.get("x-source") or mark.get("source", "")
            found[mark["id"]] = Ruling(mark["id"], mark["summary"], _about(source), json.dumps(said, sort_keys=True))
    for row in schemas[REQUEST].get("x-rules", ()):
        found[row["id"]] = Ruling(row["id"], row["summary"], _about(row["x-source"]), "")
    return found


def _about(source: str) -> str:
    """`top_k` of `mindie-llm-2.3#request/top_k`."""
    parts = source.partition("#")[2].split("/")
    return parts[1] if len(parts) > 1 else ""
