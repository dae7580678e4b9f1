"""Notation: a schema in the few characters of a table cell, `integer [1, 128]`, `text of 1 to 1024 characters`.

Null is left out: tables say in words of their own whether it is taken.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from openapi.schema.json_schema import dereference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.schema.json_schema import Schema, Schemas

SMALLEST_POWER: Final = 2**20
"""From here on, powers of two are written as such."""
WORDS: Final = {"string": "text", "array": "list"}


def notation(schema: Schema, schemas: Schemas) -> str:
    """What a value may be, null aside. `schemas` are the ones that references lead to."""
    return " or ".join(dict.fromkeys(_forms(schema, schemas))) or "null"


def takes_null(schema: Schema, schemas: Schemas) -> bool:
    """Whether null is one of the values."""
    schema = dereference(schema, schemas)
    for key in ("anyOf", "oneOf"):
        if key in schema and not any(takes_null(branch, schemas) for branch in schema[key]):
            return False
    if "enum" in schema or "const" in schema:
        return None in schema.get("enum", [schema.get("const", 0)])
    return "type" not in schema or "null" in _types(schema)


def number(value: float) -> str:
    """`2147483647` as `2^31-1`; other numbers as JSON has them, without an empty fraction."""
    if isinstance(value, float) and value.is_integer() and abs(value) < SMALLEST_POWER:
        value = int(value)
    if isinstance(value, int) and abs(value) >= SMALLEST_POWER - 1:
        sign = "-" if value < 0 else ""
        for near, rest in ((abs(value), ""), (abs(value) + 1, "-1")):
            if near & (near - 1) == 0 and not (sign and rest):
                return f"{sign}2^{near.bit_length() - 1}{rest}"
    return json.dumps(value)


def _forms(schema: Schema, schemas: Schemas) -> Iterator[str]:
    schema = dereference(schema, schemas)
    for key in ("anyOf", "oneOf"):
        if key in schema and "properties" not in schema:
            for branch in schema[key]:
                yield from _forms(branch, schemas)
            return
    if "const" in schema or "enum" in schema:
        yield from (json.dumps(value, ensure_ascii=False) for value in _listed(schema) if value is not None)
        return
    for kind in _types(schema):
        if kind in ("integer", "number"):
            yield f"{kind} {_interval(schema)}".strip() + _exception(schema)
        elif kind == "string":
            yield f"text{_count(schema, 'Length', 'character')}"
        elif kind == "array":
            yield _list(schema, schemas)
        elif kind != "null":
            yield kind


def _listed(schema: Schema) -> list[Any]:
    return [schema["const"]] if "const" in schema else list(schema["enum"])


def _types(schema: Schema) -> list[str]:
    found = schema.get("type", "object" if "properties" in schema else "anything")
    return list(found) if isinstance(found, list) else [found]


def _interval(schema: Schema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    over, under = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if (low is None and over is None) or (high is None and under is None):
        signs = ((low, "≥"), (over, ">"), (high, "≤"), (under, "<"))
        return " ".join(f"{sign} {number(bound)}" for bound, sign in signs if bound is not None)
    left = f"({number(over)}" if over is not None else f"[{number(low or 0)}"
    right = f"{number(under)})" if under is not None else f"{number(high or 0)}]"
    return f"{left}, {right}"


def _exception(schema: Schema) -> str:
    refused = schema.get("not", {})
    values = refused["enum"] if "enum" in refused else [refused["const"]] if "const" in refused else []
    return "".join(f", not {json.dumps(value)}" for value in values)


def _list(schema: Schema, schemas: Schemas) -> str:
    items = notation(schema["items"], schemas) if isinstance(schema.get("items"), dict) else ""
    total = schema.get("x-maxCharacters")
    limit = f", {number(total)} characters in all" if total else ""
    count = _count(schema, "Items", "item")
    return f"list{count}{f': {items}' if items else ''}{limit}"


def _count(schema: Schema, what: str, unit: str) -> str:
    low, high = schema.get(f"min{what}", 0), schema.get(f"max{what}")
    if not low and high is None:
        return ""
    if high is None:
        return f" of {low}+ {unit}s"
    span = number(high) if low == high else f"{low} to {number(high)}" if low else f"up to {number(high)}"
    return f" of {span} {unit}{'' if high == low == 1 else 's'}"
