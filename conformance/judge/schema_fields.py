"""Compare the fields of an answer with its schema: unknown ones, usual ones, and those that are not returned.

Properties have `x-presence: usually` if every printed example has the field, or a table lists it without a condition.
A field that must be present is in `required` instead. `x-absent` of an object lists the fields that the document names
as not returned.
"""

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


def usual_fields(document: Mapping[str, Any], schema: str, value: object) -> dict[str, bool]:
    """Map the paths of the fields that are usually present in the objects of a value to whether all have them.

    null counts as absent. A field is not expected if the object that would hold it is absent.
    """
    fields: dict[str, bool] = {}
    for holder, holder_schema, prefix in _objects(document, schema, value):
        for name, field_schema in holder_schema.get("properties", {}).items():
            if field_schema.get("x-presence") == "usually":
                path = f"{prefix}{name}"
                fields[path] = fields.get(path, True) and holder.get(name) is not None
    return fields


def excluded_fields(document: Mapping[str, Any], schema: str, value: object) -> list[str]:
    """Return the paths of fields that the document names as not returned, and that are neither null nor []."""
    return sorted(
        {
            f"{prefix}{name}"
            for holder, holder_schema, prefix in _objects(document, schema, value)
            for name in holder_schema.get("x-absent", ())
            if holder.get(name) not in (None, [])
        }
    )


def _objects(
    document: Mapping[str, Any], schema: str, value: object
) -> Iterator[tuple[dict[str, Any], dict[str, Any], str]]:
    """Yield (object, a schema of it, prefix of its fields) for each object within a value. Items share a prefix."""
    named = document["components"]["schemas"]
    waiting = [(value, [named[schema]], "", 0)]
    while waiting:
        value, unexpanded, path, depth = waiting.pop()
        schemas = [part for item in unexpanded for part in expand(named, item)]
        if depth > MAX_DEPTH:
            continue
        if isinstance(value, list):
            items = [part["items"] for part in schemas if isinstance(part.get("items"), dict)]
            waiting += [(item, items, f"{path}[]", depth + 1) for item in value]
        elif isinstance(value, dict):
            prefix = f"{path}." if path else ""
            for part in schemas:
                yield value, part, prefix
                for name, field_schema in part.get("properties", {}).items():
                    if name in value:
                        waiting.append((value[name], [field_schema], f"{prefix}{name}", depth + 1))
