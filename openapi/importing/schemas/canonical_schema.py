"""Reduce schemas to what they accept, so that two of them can be compared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from openapi.schema.json_schema import dereference

if TYPE_CHECKING:
    from openapi.schema.json_schema import Schema, Schemas

_NOTES: Final = frozenset({"description", "title", "examples", "example", "default", "discriminator", "$comment"})
_KEPT: Final = frozenset({"x-maxCharacters", "x-maxMediaBytes", "x-mediaFormats", "x-presence", "x-absent"})
_SCALARS: Final = ("boolean", "integer", "number", "string")


def same_values(one: Schema, schemas: Schemas, other: Schema, other_schemas: Schemas) -> bool:
    """Return whether two schemas accept the same values, as far as their keywords show."""
    return bool(canonical(one, schemas) == canonical(other, other_schemas))


def canonical(schema: Any, schemas: Schemas) -> Any:
    """Return a schema with references resolved, without notes, and with one way to write each keyword."""
    if isinstance(schema, list):
        return [canonical(item, schemas) for item in schema]
    if not isinstance(schema, dict):
        return schema
    schema = dereference(schema, schemas)
    reduced: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _NOTES or (key.startswith("x-") and key not in _KEPT):
            continue
        if key in ("properties", "patternProperties", "dependentSchemas"):
            reduced[key] = {name: canonical(item, schemas) for name, item in value.items()}
        elif key in ("anyOf", "oneOf"):
            reduced.setdefault("anyOf", []).extend(canonical(item, schemas) for item in value)
        elif key in ("enum", "const"):
            reduced["enum"] = sorted(map(_text, value if key == "enum" else [value]))
        elif key == "required":
            reduced.update({key: sorted(value)} if value else {})
        elif key == "type":
            reduced[key] = sorted(value) if isinstance(value, list) else [value]
        else:
            reduced[key] = canonical(value, schemas)
    if "enum" in reduced and reduced.get("type") in [[kind] for kind in _SCALARS]:
        del reduced["type"]
    if "anyOf" in reduced:
        reduced["anyOf"] = sorted(reduced["anyOf"], key=_text)
    return reduced


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
