"""The extension `x-server-limits`: what one server enforces beyond the bounds that the document of its dialect states.

The description of a dialect publishes the bounds of the document; that of a running server, what the server enforces.
`x-server-limits` in a schema is a JSON merge patch (RFC 7396) of that schema: with it, the schema is the one that the
server validates. Where the schema has the same bound, the tighter one counts, because a server may not accept what its
document forbids. Requests that only violate the limits of our own server prove nothing about another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from openapi.schema.json_schema import Schema

SERVER_LIMITS: Final = "x-server-limits"
UPPER: Final = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "x-maxCharacters"})
LOWER: Final = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems"})
NOTES: Final = frozenset({"x-source", "x-interpretation"})  # about the limits, not about the schema


def apply_limits(schema: Schema) -> Schema:
    """Return a copy of a schema in which the limits of the server are keywords, at any depth."""
    applied: Schema = _apply(schema)
    return applied


def _apply(value: Any) -> Any:
    if isinstance(value, list):
        return [_apply(item) for item in value]
    if not isinstance(value, dict):
        return value
    limits = value.get(SERVER_LIMITS, {})
    patch = {key: item for key, item in limits.items() if key not in NOTES}
    own = {key: item for key, item in value.items() if key != SERVER_LIMITS}
    return {key: _apply(item) for key, item in _merge(own, patch).items()}


def _merge(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, item in patch.items():
        if item is None:
            merged.pop(key, None)
        elif key in merged:
            merged[key] = _tighten(key, merged[key], item)
        else:
            merged[key] = _merge(None, item)
    return merged


def _tighten(key: str, stated: Any, limit: Any) -> Any:
    """Return what counts if the document and the server both limit a keyword."""
    if key in UPPER:
        return min(stated, limit)
    if key in LOWER:
        return max(stated, limit)
    if key == "enum":
        return [value for value in stated if value in limit]
    return _merge(stated, limit)
