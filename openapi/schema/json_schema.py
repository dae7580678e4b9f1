"""The types of JSON Schema objects, and the references between them."""

from __future__ import annotations

from collections.abc import Mapping
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
