"""Members: what an answer holds beyond what the description names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DEEPEST = 12  # levels; the shapes of answers have fewer
PARTS = ("allOf", "anyOf", "oneOf")


def unknown_members(document: Mapping[str, Any], schema: str, value: object) -> list[str]:
    """The paths of all members that no property of a named schema stands for, sorted, each once.

    Items of lists share a path (`choices[].delta.x`). Objects whose schema names no properties may hold anything.
    """
    named = document["components"]["schemas"]
    return sorted(set(_unknown(named, [named[schema]], value, "", 0)))


def _unknown(
    named: Mapping[str, Any], schemas: list[dict[str, Any]], value: object, path: str, depth: int
) -> Iterator[str]:
    schemas = [part for schema in schemas for part in _flat(named, schema, 0)]
    if depth > DEEPEST:
        return
    if isinstance(value, list):
        items = [schema["items"] for schema in schemas if isinstance(schema.get("items"), dict)]
        for item in value:
            yield from _unknown(named, items, item, f"{path}[]", depth + 1)
    elif isinstance(value, dict):
        known: dict[str, list[dict[str, Any]]] = {}
        for schema in schemas:
            for name, member in schema.get("properties", {}).items():
                known.setdefault(name, []).append(member)
        if not known:
            return
        for name, member in value.items():
            place = f"{path}.{name}" if path else name
            if name in known:
                yield from _unknown(named, known[name], member, place, depth + 1)
            else:
                yield place


def _flat(named: Mapping[str, Any], schema: object, depth: int) -> Iterator[dict[str, Any]]:
    """A schema and all that it is made of, references followed."""
    if not isinstance(schema, dict) or depth > DEEPEST:
        return
    if "$ref" in schema:
        yield from _flat(named, named.get(schema["$ref"].rpartition("/")[2]), depth + 1)
    yield schema
    for part in PARTS:
        for each in schema.get(part, ()):
            yield from _flat(named, each, depth + 1)
