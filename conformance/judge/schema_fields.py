"""Compare the fields of an answer with the outline of its schema: unknown, usual and excluded fields.

The items of a list share one path (`choices[].delta.x`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.description.schema_outline import SchemaOutline

MAX_DEPTH: Final = 12  # levels; answers have fewer


def unknown_fields(outline: SchemaOutline, value: object) -> list[str]:
    """Return the paths of all fields that no property of a schema defines, sorted and without duplicates.

    An object whose schema defines no properties may have any fields.
    """
    return sorted(
        {
            f"{prefix}{name}"
            for holder, schema, prefix in _objects(outline, value)
            if schema.fields
            for name in holder
            if name not in schema.fields
        }
    )


def usual_fields(outline: SchemaOutline, value: object) -> dict[str, bool]:
    """Map the paths of the fields that are usually present in the objects of a value to whether all have them.

    null counts as absent. A field is not expected if the object that would hold it is absent.
    """
    fields: dict[str, bool] = {}
    for holder, schema, prefix in _objects(outline, value):
        for name in schema.usual:
            path = f"{prefix}{name}"
            fields[path] = fields.get(path, True) and holder.get(name) is not None
    return fields


def excluded_fields(outline: SchemaOutline, value: object) -> list[str]:
    """Return the paths of fields that the document names as not returned, and that are neither null nor []."""
    return sorted(
        {
            f"{prefix}{name}"
            for holder, schema, prefix in _objects(outline, value)
            for name in schema.absent
            if holder.get(name) not in (None, [])
        }
    )


def _objects(outline: SchemaOutline, value: object) -> Iterator[tuple[dict[str, Any], SchemaOutline, str]]:
    """Yield (object, outline of it, prefix of its fields) for each object within a value that a schema describes."""
    waiting: list[tuple[object, SchemaOutline, str, int]] = [(value, outline, "", 0)]
    while waiting:
        value, schema, path, depth = waiting.pop()
        if depth > MAX_DEPTH:
            continue
        if isinstance(value, list) and schema.items is not None:
            items = schema.items
            waiting += [(item, items, f"{path}[]", depth + 1) for item in value]
        elif isinstance(value, dict):
            prefix = f"{path}." if path else ""
            yield value, schema, prefix
            fields = schema.fields
            waiting += [
                (field, fields[name], f"{prefix}{name}", depth + 1)
                for name, field in value.items()
                if isinstance(field, (dict, list)) and name in fields
            ]
