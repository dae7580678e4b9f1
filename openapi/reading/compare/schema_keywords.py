"""Facts as JSON Schema: the keywords that say the same, set into a schema that is there or made anew."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from openapi.reading.facts.fact import MEMBERS, Fact, is_stated
from openapi.reading.grammar.interval import Interval, closed_and_merged

if TYPE_CHECKING:
    from collections.abc import Collection

    from openapi.reading.grammar.interval import Number, Range
    from openapi.schema.json_schema import Schema


_KEYWORDS: Final = {
    "range": ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "not"),
    "enum": ("enum", "const"),
    "length": ("minLength", "maxLength"),
    "items": ("minItems", "maxItems"),
    "characters": ("x-maxCharacters",),
    "media_bytes": ("x-maxMediaBytes",),
    "formats": ("x-mediaFormats",),
}
_SETTABLE: Final = frozenset({"types", "format", *_KEYWORDS})


def is_settable(member: str, fact: Fact) -> bool:
    """Whether keywords of a schema can say all that the fact says in this member."""
    if member == "range":
        return all(
            not isinstance(each.low, str)
            and not isinstance(each.high, str)
            and None not in (each.low_open, each.high_open)
            for each in fact.range
        )
    return member in _SETTABLE


def schema_of(fact: Fact) -> Schema:
    """A new schema that says what the fact says."""
    types = fact.types or ("string",) if fact.length or fact.formats else fact.types
    if len(types) > 1:
        node: Schema = {"anyOf": [{"type": name} for name in types]}
    else:
        node = {"type": types[0]} if types else {}
    return changed(node, fact, [member for member in MEMBERS if member != "types"])


def changed(node: Schema, fact: Fact, members: Collection[str], gone: Collection[str] = ()) -> Schema:
    """A copy of a schema that says what the fact says in these members, nothing in those that are gone, and else what
    it said before. A type is never gone."""
    node = copy.deepcopy(node)
    if fact.types and fact.format is None:
        node.pop("format", None)
    for member in gone:
        for branch in (node, *node.get("anyOf", ()), *node.get("oneOf", ())):
            for keyword in _KEYWORDS.get(member, ()):
                branch.pop(keyword, None)
    if "types" in members and is_stated("types", fact.types):
        kept = {key: value for key, value in node.items() if key not in ("type", "anyOf", "oneOf", "$ref")}
        node = {**schema_of(fact), **kept} if "$ref" not in node else schema_of(fact)
    for member in members:
        value = getattr(fact, member)
        if is_stated(member, value) and member in _SETTABLE:
            _set(node, member, value)
    return node


def _set(node: Schema, member: str, value: Any) -> None:
    match member:
        case "range":
            _set_range(branch_of(node, "integer", "number"), value)
        case "length":
            _set_sizes(branch_of(node, "string"), value, "Length")
        case "items":
            _set_sizes(branch_of(node, "array"), value, "Items")
        case "characters":
            branch_of(node, "array")["x-maxCharacters"] = value[-1].high
        case "media_bytes":
            node["x-maxMediaBytes"] = value[-1].high
        case "formats":
            node["x-mediaFormats"] = list(value)
        case "format":
            branch_of(node, "integer", "number")["format"] = value
        case "enum":
            branch = branch_of(node, "string", "integer", "number")
            branch.pop("const", None)
            branch["enum"] = list(value)


def branch_of(node: Schema, *types: str) -> Schema:
    """The part of a schema that is about these types; the schema itself where it has no branches."""
    branches: list[Schema] = node.get("anyOf") or node.get("oneOf") or []
    return next((branch for branch in branches if branch.get("type") in types), node)


def _set_sizes(node: Schema, value: Range, of: str) -> None:
    for end, bound in (("min", value[0].low), ("max", value[-1].high)):
        node.pop(f"{end}{of}", None)
        if bound is not None and (end, bound) != ("min", 0):
            node[f"{end}{of}"] = bound


def _set_range(node: Schema, value: Range) -> None:
    for keyword in (*_KEYWORDS["range"], "anyOf"):
        node.pop(keyword, None)
    one, *others = value
    if node.get("type") == "integer" and others:
        one, *others = closed_and_merged(value)
    if not others:
        node.update(_bounds(one, node))
    elif len(others) == 1 and (hole := _hole(one, others[0])) is not None:
        node.update(_bounds(Interval(one.low, others[0].high), node))
        node["not"] = {"const": hole}
    else:
        kind = node.pop("type", None)
        node["anyOf"] = [{"type": kind, **_bounds(each, {"type": kind})} for each in value]


def _hole(one: Interval, other: Interval) -> int | None:
    """The one whole number between two closed intervals."""
    if isinstance(one.high, int) and isinstance(other.low, int) and other.low - one.high == 2:
        return one.high + 1
    return None


def _bounds(each: Interval, node: Schema) -> Schema:
    bounds: Schema = {}
    for end, bound, opened in (("Minimum", each.low, each.low_open), ("Maximum", each.high, each.high_open)):
        if bound is not None and opened is not None and not isinstance(bound, str):
            bounds[f"exclusive{end}" if opened else end.lower()] = _plain(bound, node)
    return bounds


def _plain(bound: Number, node: Schema) -> float:
    return bound if isinstance(bound, int) and node.get("type") == "integer" else float(bound)
