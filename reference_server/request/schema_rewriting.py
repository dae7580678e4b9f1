"""Rewrite schemas of clients so that the grammar compiler accepts them: with other keywords, for the same values.

The compiler supports neither `propertyNames`, `uniqueItems` and `not` nor look-around in patterns, and no format that
it does not know. Clients send simple uses of them all the time. What has no other form here stays as it is, and the
compiler refuses it.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Json = dict[str, Any]

MAPS_OF_SCHEMAS: Final = ("properties", "$defs", "definitions", "patternProperties")
VALUES: Final = ("enum", "const", "default", "examples", "required")
"""Keywords that contain values, not schemas."""
FORMATS: Final = (
    *("date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"),
    *("uri", "unknown"),
)
"""The formats of the compiler. Any other one is a note, as JSON Schema says."""
PATTERNS: Final[Mapping[str, str]] = {r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$": r"^[+-]?(?:\d+\.?\d*|\.\d+)$"}
"""Patterns with look-around that Pydantic writes for Decimal, each with the same one without."""
MOST_VALUES: Final = 3
"""Values of the items of a set; of more, the lists are too many."""


def rewrite(schema: Json) -> Json:
    """Return a schema that allows the same values."""

    def change(part: Json) -> Any:
        for step in (_drop_notes, _name_properties, _list_sets):
            part = step(part, schema)
        return False if part.get("not") in ({}, True) else part

    rewritten: Json = map_schemas(schema, change)
    return rewritten if isinstance(rewritten, dict) else {"not": {}}


def map_schemas(value: Any, change: Callable[[Json], Any]) -> Any:
    """Return a schema of which each object that is a schema is changed, the inner ones first."""
    if isinstance(value, list):
        return [map_schemas(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    return change(
        {
            key: {name: map_schemas(inner, change) for name, inner in item.items()}
            if key in MAPS_OF_SCHEMAS and isinstance(item, dict)
            else item
            if key in VALUES or key == "not"
            else map_schemas(item, change)
            for key, item in value.items()
        }
    )


def _drop_notes(part: Json, _root: Json) -> Json:
    """Leave out formats that say nothing about what is valid, and look-around that can be written without it.

    Where values are listed, a format is a note as well, and to compile both takes long.
    """
    if "format" in part and (part["format"] not in FORMATS or part.keys() & {"enum", "const"}):
        part = {key: item for key, item in part.items() if key != "format"}
    pattern = part.get("pattern")
    return {**part, "pattern": PATTERNS[pattern]} if isinstance(pattern, str) and pattern in PATTERNS else part


def _name_properties(part: Json, root: Json) -> Json:
    """Write propertyNames as properties or patternProperties."""
    names = part.get("propertyNames")
    if not isinstance(names, dict) or "patternProperties" in part:
        return part
    others = {key: item for key, item in part.items() if key != "propertyNames"}
    named = part.get("properties", {})
    if not names.keys() - {"type"} and names.get("type", "string") == "string":
        return others
    inner = part.get("additionalProperties", True)
    values = _values_of(names, root)
    if values is not None and isinstance(named, dict):
        listed = {name: named.get(name, inner) for name in values if isinstance(name, str)}
        return {**others, "properties": listed, "additionalProperties": False}
    if isinstance(names.get("pattern"), str) and not names.keys() - {"type", "pattern"} and not named:
        return {**others, "patternProperties": {names["pattern"]: inner}, "additionalProperties": False}
    return part


def _list_sets(part: Json, root: Json) -> Json:
    """Write uniqueItems as the lists that are allowed, if the items have few values."""
    if "uniqueItems" not in part:
        return part
    others = {key: item for key, item in part.items() if key != "uniqueItems"}
    least, most = part.get("minItems", 0), part.get("maxItems", MOST_VALUES)
    if not part["uniqueItems"] or most in (0, 1):
        return others
    values = _values_of(part.get("items"), root)
    if values is None or len(values) > MOST_VALUES or type(least) is not int or type(most) is not int:
        return part
    lists = [
        {"type": "array", "prefixItems": [{"const": value} for value in listed], "items": False, "minItems": length}
        for length in range(max(1, least), min(most, len(values)) + 1)
        for listed in permutations(values, length)
    ]
    lists += [{"type": "array", "maxItems": 0}] if least == 0 else []
    kept = {key: item for key, item in others.items() if key not in ("type", "items", "minItems", "maxItems")}
    return {**kept, "anyOf": lists} if lists and "anyOf" not in kept and "prefixItems" not in kept else part


def _values_of(schema: Any, root: Json) -> list[Any] | None:
    """Return the values that a schema lists, itself or where it refers to; None if it lists none."""
    if not isinstance(schema, dict):
        return None
    target = schema.get("$ref")
    if isinstance(target, str):
        _, _, place = target.partition("#/")
        holder, _, name = place.partition("/")
        definitions = root.get(holder)
        schema = definitions.get(name) if isinstance(definitions, dict) else None
    if not isinstance(schema, dict) or schema.keys() & {"minLength", "maxLength", "pattern", "not", "allOf"}:
        return None
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if values is None and schema.get("type") == "boolean":
        values = [True, False]
    if not isinstance(values, list) or any(value in values[:at] for at, value in enumerate(values)):
        return None
    return values
