"""Separate null from the other values that a schema accepts, and add it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import jsonschema_rs

if TYPE_CHECKING:
    from openapi.schema.json_schema import Schema

NULL: Final = {"type": "null"}
WIDENED: Final = frozenset({"type", "enum"})
DECIDING: Final = frozenset({"const", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref"})
"""Further keywords that may refuse null; all others only limit values of other types."""


def split_null(schema: Schema) -> tuple[Schema, bool]:
    """Return a schema of the values other than null, and whether the given schema accepts null.

    The given schema has references to named schemas only where these refuse null.
    """
    kinds = schema.get("type")
    rest = {key: value for key, value in schema.items() if key not in ("type", "enum", "anyOf", "oneOf")}
    nullable = True
    if isinstance(kinds, list):
        others = [kind for kind in kinds if kind != "null"]
        nullable = len(others) < len(kinds)
        rest["type"] = others[0] if len(others) == 1 else others
    elif kinds is not None:
        nullable = False
        rest["type"] = kinds
    if "enum" in schema:
        rest["enum"] = [value for value in schema["enum"] if value is not None]
        nullable = nullable and None in schema["enum"]
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            branches = [split_null(branch) for branch in schema[keyword] if branch.get("type") != "null"]
            nullable = nullable and (len(branches) < len(schema[keyword]) or any(null for _, null in branches))
            kept = [branch for branch, _ in branches if branch != {"enum": []}]
            if len(kept) == 1 and "properties" not in rest:
                rest = {**kept[0], **rest}
            elif kept:
                rest[keyword] = kept
    constrained = kinds is not None or any(key in schema for key in ("enum", "anyOf", "oneOf", "const", "$ref"))
    return rest, nullable and constrained and "const" not in schema and "$ref" not in schema


def add_null(schema: Schema) -> Schema:
    """Return a schema that accepts null, too: by its own keywords if they can say so, else as a further alternative."""
    others = {key: value for key, value in schema.items() if key in DECIDING}
    if others.keys() == {"anyOf"} and not schema.keys() & WIDENED:
        alternatives = schema["anyOf"]
        return schema if NULL in alternatives else {**schema, "anyOf": [*alternatives, dict(NULL)]}
    if not _accepts_null(others):
        return {"anyOf": [schema, dict(NULL)]}
    widened = dict(schema)
    if "enum" in schema and None not in schema["enum"]:
        widened["enum"] = [*schema["enum"], None]
    if "type" in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        widened["type"] = [*kinds, *([] if "null" in kinds else ["null"])]
    return widened


def _accepts_null(schema: Schema) -> bool:
    """Return whether a schema accepts null; one that refers to named schemas is taken to refuse it."""
    return "'$ref'" not in repr(schema) and bool(jsonschema_rs.is_valid(schema, None))
