"""Write a schema in the short notation of a table cell: `integer [1, 128]`, `string of 1 to 1024 characters`.

The notation leaves null out; tables state in a separate note whether null is accepted.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from openapi.schema.json_schema import dereference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.schema.json_schema import Schema, Schemas

SMALLEST_POWER: Final = 2**20
"""Powers of two from this one on are written as powers."""


def notation(schema: Schema, schemas: Schemas) -> str:
    """Describe the values of a schema except null. `schemas` are the targets of references."""
    return " or ".join(dict.fromkeys(_alternatives(schema, schemas))) or "null"


def accepts_null(schema: Schema, schemas: Schemas) -> bool:
    """Return whether null is a valid value."""
    schema = dereference(schema, schemas)
    for key in ("anyOf", "oneOf"):
        if key in schema and not any(accepts_null(branch, schemas) for branch in schema[key]):
            return False
    if "enum" in schema or "const" in schema:
        return None in schema.get("enum", [schema.get("const", 0)])
    return "type" not in schema or "null" in _types(schema)


def format_number(value: float) -> str:
    """Format `2147483647` as `2^31-1`, and other numbers as in JSON, but without a fraction of zero."""
    if isinstance(value, float) and value.is_integer() and abs(value) < SMALLEST_POWER:
        value = int(value)
    if isinstance(value, int) and abs(value) >= SMALLEST_POWER - 1:
        sign = "-" if value < 0 else ""
        for near, rest in ((abs(value), ""), (abs(value) + 1, "-1")):
            if near & (near - 1) == 0 and not (sign and rest):
                return f"{sign}2^{near.bit_length() - 1}{rest}"
    return json.dumps(value)


def _alternatives(schema: Schema, schemas: Schemas) -> Iterator[str]:
    schema = dereference(schema, schemas)
    for key in ("anyOf", "oneOf"):
        if key in schema and "properties" not in schema:
            for branch in schema[key]:
                yield from _alternatives(branch, schemas)
            return
    if "const" in schema or "enum" in schema:
        yield from (json.dumps(value, ensure_ascii=False) for value in _enum_values(schema) if value is not None)
        return
    for kind in _types(schema):
        if kind in ("integer", "number"):
            yield f"{kind} {_interval(schema)}".strip() + _exception(schema)
        elif kind == "string":
            yield f"string{_count(schema, 'Length', 'character')}"
        elif kind == "array":
            yield _array(schema, schemas)
        elif kind != "null":
            yield kind


def _enum_values(schema: Schema) -> list[Any]:
    return [schema["const"]] if "const" in schema else list(schema["enum"])


def _types(schema: Schema) -> list[str]:
    types = schema.get("type", "object" if "properties" in schema else "anything")
    return list(types) if isinstance(types, list) else [types]


def _interval(schema: Schema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    over, under = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if (low is None and over is None) or (high is None and under is None):
        signs = ((low, "≥"), (over, ">"), (high, "≤"), (under, "<"))
        return " ".join(f"{sign} {format_number(bound)}" for bound, sign in signs if bound is not None)
    left = f"({format_number(over)}" if over is not None else f"[{format_number(low or 0)}"
    right = f"{format_number(under)})" if under is not None else f"{format_number(high or 0)}]"
    return f"{left}, {right}"


def _exception(schema: Schema) -> str:
    refused = schema.get("not", {})
    values = refused["enum"] if "enum" in refused else [refused["const"]] if "const" in refused else []
    return "".join(f", not {json.dumps(value)}" for value in values)


def _array(schema: Schema, schemas: Schemas) -> str:
    items = notation(schema["items"], schemas) if isinstance(schema.get("items"), dict) else ""
    total = schema.get("x-maxCharacters")
    limit = f", {format_number(total)} characters in all" if total else ""
    count = _count(schema, "Items", "item")
    return f"array{count}{f': {items}' if items else ''}{limit}"


def _count(schema: Schema, size: str, unit: str) -> str:
    low, high = schema.get(f"min{size}", 0), schema.get(f"max{size}")
    if not low and high is None:
        return ""
    if high is None:
        return f" of {low}+ {unit}s"
    span = (
        format_number(high)
        if low == high
        else f"{low} to {format_number(high)}"
        if low
        else f"up to {format_number(high)}"
    )
    return f" of {span} {unit}{'' if high == low == 1 else 's'}"
