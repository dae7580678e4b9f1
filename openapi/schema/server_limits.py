"""The extension `x-server-limits`: what one server enforces beyond the bounds that the document of its dialect states.

A description publishes the bounds of the document. `x-server-limits` in a schema is a JSON merge patch (RFC 7396) of
that schema: with it, the schema is the one that the server validates. Requests that only violate the limits of our own
server prove nothing about another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from openapi.schema.json_schema import Schema

SERVER_LIMITS: Final = "x-server-limits"
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
        else:
            merged[key] = _merge(merged.get(key), item)
    return merged
