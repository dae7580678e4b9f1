"""Read the rules that combine several fields back from a description."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openapi.contract.tree.delta import walk_tree
from openapi.description.description import REQUEST

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class DescribedRule:
    """One rule. `parameter` is the one that its source is about; `schema` is JSON, or "" for a rule in words only."""

    id: str
    summary: str
    parameter: str
    schema: str


def read_rules(document: Mapping[str, Any]) -> dict[str, DescribedRule]:
    """Read every rule of a description by its id: the rules in its schemas, then the rules in words."""
    schemas = document["components"]["schemas"]
    rules: dict[str, DescribedRule] = {}
    for key, mark, marked in walk_tree(schemas):
        if key == "x-rule":
            keywords = {name: value for name, value in marked.items() if not name.startswith("x-")}
            schema = keywords[mark["of"]] if "of" in mark else keywords
            parameter = _parameter_of(marked.get("x-source") or mark.get("source", ""))
            rules[mark["id"]] = DescribedRule(
                mark["id"], mark["summary"], parameter, json.dumps(schema, sort_keys=True)
            )
    for row in schemas[REQUEST].get("x-rules", ()):
        rules[row["id"]] = DescribedRule(row["id"], row["summary"], _parameter_of(row["x-source"]), "")
    return rules


def _parameter_of(source: str) -> str:
    """Return `top_k` for the source `mindie-llm-2.3#request/top_k`."""
    parts = source.partition("#")[2].split("/")
    return parts[1] if len(parts) > 1 else ""
