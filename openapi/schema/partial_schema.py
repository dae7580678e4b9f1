"""A schema and the part of it that one document states: does the part alone settle what becomes of a value?

Both are written without references, and the part has the same fields, elements and alternatives as the whole, which are
`anyOf` in both. Each keyword holds at its path: if a document limits only the name of a function, the name is too long
whatever else may be wrong. So a value is checked against the alternatives that it is meant to be, by the whole schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.schema.json_schema import Schema

FIELDS: Final = frozenset({"properties"})
"""Keywords whose value maps names to schemas."""
ALTERNATIVES: Final = ("anyOf", "oneOf", "allOf")
"""Keywords whose value is a list of schemas."""
INNER: Final = frozenset({"items", "additionalProperties"})
"""Keywords whose value is a schema, or true or false."""
_ABSENT: Final = object()
_KEPT: Final = frozenset({"x-maxCharacters", "x-maxMediaBytes", "x-mediaFormats", "x-json"})
_NOTES: Final = frozenset(
    {"description", "title", "default", "examples", "example", "discriminator", "$comment", "format"}
)
_VALUES: Final = frozenset({"type", "enum", "const"})
"""Keywords that leave null out, which is less than a word about null."""


def is_note(keyword: str) -> bool:
    """Return whether a keyword only describes a value and limits none."""
    return keyword in _NOTES or (keyword.startswith("x-") and keyword not in _KEPT)


def is_container(keyword: str, value: Any) -> bool:
    """Return whether a keyword only contains schemas, each of whose keywords is a limit of its own."""
    return keyword in FIELDS or keyword in ALTERNATIVES or (keyword in INNER and isinstance(value, dict))


@dataclass(frozen=True, slots=True)
class PartialSchema:
    """A schema, and the part of it that a document states."""

    whole: Schema
    part: Schema

    def settles(self, value: Any, *, accepted: bool) -> bool:
        """Return whether the part alone settles that a value is accepted or refused.

        A refusal is settled if the part refuses the value. That a value is accepted is settled if no keyword outside
        the part applies to it: where only another document limits a value, the limit could be narrower.
        """
        if not accepted and _refuses(self.whole, self.whole, value):
            return _refuses(self.whole, self.part, value)
        return not _has_more(self.whole, self.part, value)  # or a refusal that no standard keyword shows


def _refuses(whole: Schema, part: Schema, value: Any) -> bool:
    """Return whether the part refuses a value, or something that the value contains."""
    unsaid = _VALUES if value is None else ()
    own = {key: limit for key, limit in part.items() if not is_container(key, limit) and key not in unsaid}
    if "additionalProperties" in own:
        own["properties"] = dict.fromkeys(part.get("properties", ()), True)
    if own and not jsonschema_rs.is_valid(own, value):
        return True
    if "anyOf" in whole and all(_refuses(*branch, value) for branch in _meant(whole, part, value)):
        return True
    return any(_refuses(one, other, inner) for one, other, inner in _inside(whole, part, value))


def _has_more(whole: Schema, part: Schema, value: Any) -> bool:
    """Return whether the whole limits a value, or what it contains, by a keyword that the part does not have."""
    own = {key: limit for key, limit in whole.items() if not is_container(key, limit)}
    if any(part.get(key, _ABSENT) != limit for key, limit in own.items()):
        return True
    if "anyOf" in whole and all(_has_more(*branch, value) for branch in _meant(whole, part, value)):
        return True
    return any(_has_more(one, other, inner) for one, other, inner in _inside(whole, part, value))


def _meant(whole: Schema, part: Schema, value: Any) -> list[tuple[Schema, Schema]]:
    """Return the alternatives that a value is meant to be, by its type and by fields with given values; else all."""
    pairs = list(zip(whole["anyOf"], part["anyOf"], strict=True))
    return [pair for pair in pairs if _is_meant(pair[0], value)] or pairs


def _is_meant(branch: Schema, value: Any) -> bool:
    if "type" in branch and not jsonschema_rs.is_valid({"type": branch["type"]}, value):
        return False
    if not isinstance(value, dict):
        return True
    fields = branch.get("properties", {})
    given = {name: {key: fields[name][key] for key in ("const", "enum") if key in fields[name]} for name in fields}
    return all(jsonschema_rs.is_valid(given[name], item) for name, item in value.items() if name in given)


def _inside(whole: Schema, part: Schema, value: Any) -> Iterator[tuple[Schema, Schema, Any]]:
    """Yield the schemas, whole and in part, of what a list or an object contains, and further conditions on itself."""
    yield from ((one, other, value) for one, other in zip(whole.get("allOf", ()), part.get("allOf", ()), strict=True))
    if isinstance(value, list) and isinstance(whole.get("items"), dict):
        yield from ((whole["items"], part["items"], item) for item in value)
    if not isinstance(value, dict):
        return
    fields = whole.get("properties", {})
    yield from ((fields[name], part["properties"][name], item) for name, item in value.items() if name in fields)
    if isinstance(whole.get("additionalProperties"), dict):
        others = [item for name, item in value.items() if name not in fields]
        yield from ((whole["additionalProperties"], part["additionalProperties"], item) for item in others)
