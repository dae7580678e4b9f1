"""Keep the lower bounds of the extended dialect as limits of our own server, where a source states lower ones or none.

Our server implements the extended dialect: it generates at least one token, for example, and has no empty stop string,
whatever a source states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi.schema.server_limits import SERVER_LIMITS

if TYPE_CHECKING:
    from openapi.schema.json_schema import Schema

_LENGTHS: Final = {"string": "minLength", "array": "minItems"}
_NUMERIC: Final = ("integer", "number")


def with_numeric_limit(schema: Schema, known: Schema) -> Schema:
    """Return a schema of numbers with the lower bound of that of the extended dialect, and others as they are.

    A description states the whole schema, so lengths that it leaves open are meant so.
    """
    is_number = schema.get("type") in _NUMERIC and schema.get("type") == known.get("type")
    limits = _numeric_limit(schema, known) if is_number else {}
    return {**schema, SERVER_LIMITS: {**schema.get(SERVER_LIMITS, {}), **limits}} if limits else schema


def with_server_limits(schema: Schema, known: Schema) -> Schema:
    """Return a schema with the lower bounds of that of the extended dialect, also in alternatives and elements."""
    if "anyOf" in schema:
        branches = [_with_known_branch(branch, known) for branch in schema["anyOf"]]
        return schema if branches == schema["anyOf"] else {**schema, "anyOf": branches}
    if "anyOf" in known:
        return _with_known_branch(schema, known)
    if "enum" in schema or schema.get("type") != known.get("type"):
        return schema
    limits = _numeric_limit(schema, known) if schema.get("type") in _NUMERIC else _length_limit(schema, known)
    if isinstance(schema.get("items"), dict) and isinstance(known.get("items"), dict):
        items = with_server_limits(schema["items"], known["items"])
        schema = schema if items == schema["items"] else {**schema, "items": items}
    return {**schema, SERVER_LIMITS: {**schema.get(SERVER_LIMITS, {}), **limits}} if limits else schema


def _with_known_branch(branch: Schema, known: Schema) -> Schema:
    """Return an alternative with the lower bounds of the one that has the same type."""
    others = (other for other in known.get("anyOf", [known]) if other.get("type") == branch.get("type"))
    return with_server_limits(branch, next(others, {}))


def _numeric_limit(schema: Schema, known: Schema) -> dict[str, Any]:
    bound = next((key for key in ("minimum", "exclusiveMinimum") if key in known), None)
    if bound is None:
        return {}
    stated = schema.get("minimum", schema.get("exclusiveMinimum"))
    opened = bound == "exclusiveMinimum" and "exclusiveMinimum" not in schema
    if stated is not None and not (stated < known[bound] or (stated == known[bound] and opened)):
        return {}
    return {bound: known[bound]}


def _length_limit(schema: Schema, known: Schema) -> dict[str, Any]:
    bound = _LENGTHS.get(str(schema.get("type")))
    if bound is None or bound not in known or schema.get(bound, 0) >= known[bound]:
        return {}
    return {bound: known[bound]}
