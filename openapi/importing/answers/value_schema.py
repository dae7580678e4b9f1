"""Make a schema of values that a page prints: their types, and the fields that all of them have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openapi.schema.json_schema import Schema

_NAMES: Final[dict[type, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}


def make_value_schema(values: Sequence[Any]) -> Schema:
    """Return a schema that all values fit; empty if all of them are null, which shows no type."""
    types = list(dict.fromkeys(_NAMES[type(value)] for value in values))
    if "number" in types and "integer" in types:
        types.remove("integer")
    if types in ([], ["null"]):
        return {}
    schema: Schema = {"type": types[0] if len(types) == 1 else types}
    objects = [value for value in values if isinstance(value, dict)]
    if objects:
        names = list(dict.fromkeys(name for value in objects for name in value))
        schema["required"] = [name for name in names if all(name in value for value in objects)]
        schema["properties"] = {
            name: make_value_schema([value[name] for value in objects if name in value]) for name in names
        }
    items = [item for value in values if isinstance(value, list) for item in value]
    if items:
        schema["items"] = make_value_schema(items)
    return schema
