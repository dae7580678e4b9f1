"""Find fields of an answer that its schema documents as usually present, or as not returned.

Properties have `x-presence: usually` if every printed example has the field, or a table lists it without a condition.
A field that must be present is in `required` instead. `x-absent` of an object lists the fields that the document names
as not returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.judge.unknown_fields import expand

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_DEPTH = 12  # levels; the schemas of answers have fewer


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
    """Return the paths of fields that the document names as not returned, and that are present and not null."""
    return sorted(
        {
            f"{prefix}{name}"
            for holder, holder_schema, prefix in _objects(document, schema, value)
            for name in holder_schema.get("x-absent", ())
            if holder.get(name) is not None
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
