"""Merge the schemas of an `allOf`: a value has to be valid by all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi.schema.json_schema import dereference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openapi.schema.json_schema import Schema, Schemas

LOWER: Final = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
UPPER: Final = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})


def merge_all(parts: Sequence[Schema], schemas: Schemas) -> tuple[Schema, list[str]]:
    """Return one schema for all parts, with the tightest bounds, and what cannot be merged, in words.

    A later part wins where two contradict each other.
    """
    merged: Schema = {}
    contradictions: list[str] = []
    for part in parts:
        for key, value in dereference(part, schemas).items():
            merged[key] = _merge(key, merged[key], value, schemas, contradictions) if key in merged else value
    return merged, contradictions


def _merge(key: str, one: Any, other: Any, schemas: Schemas, contradictions: list[str]) -> Any:
    if one == other:
        return other
    if key in LOWER:
        return max(one, other)
    if key in UPPER:
        return min(one, other)
    if key == "required":
        return [*one, *(name for name in other if name not in one)]
    if key == "enum":
        return [value for value in one if value in other]
    if key == "properties":
        fields = dict(one)
        for name, schema in other.items():
            if name in fields:
                fields[name], inner = merge_all([fields[name], schema], schemas)
                contradictions += [f"{name}: {text}" for text in inner]
            else:
                fields[name] = schema
        return fields
    if key == "type":
        both = _both_types(one, other)
        if both:
            return both
    if key != "default":
        contradictions.append(f"{key} is both {one!r} and {other!r}")
    return other


def _both_types(one: Any, other: Any) -> Any:
    left, right = ([kinds] if isinstance(kinds, str) else kinds for kinds in (one, other))
    both = [kind for kind in left if kind in right]
    if "integer" in (*left, *right) and "number" in (*left, *right) and "integer" not in both:
        both.append("integer")
    return both[0] if len(both) == 1 else both
