"""Find the fields of an answer that the description does not define."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_DEPTH = 12  # levels; the schemas of answers have fewer
COMBINATIONS = ("allOf", "anyOf", "oneOf")


def unknown_fields(document: Mapping[str, Any], schema: str, value: object) -> list[str]:
    """Return the paths of all fields that no property of a named schema defines, sorted and without duplicates.

    The items of a list share one path (`choices[].delta.x`). An object whose schema defines no properties may have any
    fields.
    """
    schemas = document["components"]["schemas"]
    return sorted(set(_unknown(schemas, [schemas[schema]], value, "", 0)))


def _unknown(
    named: Mapping[str, Any], schemas: list[dict[str, Any]], value: object, path: str, depth: int
) -> Iterator[str]:
    schemas = [part for schema in schemas for part in expand(named, schema)]
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        items = [schema["items"] for schema in schemas if isinstance(schema.get("items"), dict)]
        for item in value:
            yield from _unknown(named, items, item, f"{path}[]", depth + 1)
    elif isinstance(value, dict):
        known: dict[str, list[dict[str, Any]]] = {}
        for schema in schemas:
            for name, field_schema in schema.get("properties", {}).items():
                known.setdefault(name, []).append(field_schema)
        if not known:
            return
        for name, field in value.items():
            field_path = f"{path}.{name}" if path else name
            if name in known:
                yield from _unknown(named, known[name], field, field_path, depth + 1)
            else:
                yield field_path


def expand(named: Mapping[str, Any], schema: object, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield a schema and all schemas that it combines or refers to."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return
    if "$ref" in schema:
        yield from expand(named, named.get(schema["$ref"].rpartition("/")[2]), depth + 1)
    yield schema
    for combination in COMBINATIONS:
        for part in schema.get(combination, ()):
            yield from expand(named, part, depth + 1)
