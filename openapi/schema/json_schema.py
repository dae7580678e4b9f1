"""The types of JSON Schema objects, and the references between them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

Schema = dict[str, Any]
Schemas = Mapping[str, Schema]
"""Schemas by their names under `components/schemas`."""

REFERENCE: Final = "#/components/schemas/"
"""How a `$ref` to a named schema begins."""


def dereference(schema: Schema, schemas: Schemas) -> Schema:
    """Return the schema that `$ref` names, overlaid with the keywords next to `$ref`; without `$ref`, the schema."""
    if "$ref" not in schema:
        return schema
    overlay = {key: value for key, value in schema.items() if key != "$ref"}
    return {**dereference(schemas[schema["$ref"].removeprefix(REFERENCE)], schemas), **overlay}


def reachable(roots: Collection[Any], schemas: Schemas) -> set[str]:
    """Return the names of all schemas to which some schemas refer, directly or through others."""
    names: set[str] = set()
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            waiting += node.values()
            name = str(node.get("$ref", "")).removeprefix(REFERENCE)
            if name in schemas and name not in names:
                names.add(name)
                waiting.append(schemas[name])
    return names
