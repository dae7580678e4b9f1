"""Express facts as keywords of JSON Schema, in an existing schema or a new one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.tree.delta import copy_tree
from openapi.reading.facts.fact import ATTRIBUTES, RANGES, Fact, is_stated
from openapi.reading.grammar.interval import Interval, merge_integers

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
_LOWER: Final = frozenset({"minimum", "exclusiveMinimum"})
_UPPER: Final = frozenset({"maximum", "exclusiveMaximum"})
_EXPRESSIBLE: Final = frozenset({"types", "format", *_KEYWORDS})


def is_expressible(attribute: str, fact: Fact) -> bool:
    """Return whether keywords can express the whole value of an attribute."""
    if attribute == "range":
        return all(
            not isinstance(interval.low, str)
            and not isinstance(interval.high, str)
            and None not in (interval.low_open, interval.high_open)
            for interval in fact.range
        )
    return attribute in _EXPRESSIBLE


def list_stated_keywords(fact: Fact) -> frozenset[str]:
    """Return the keywords that a fact states: of a range or a size, only the ends that it has."""
    stated: set[str] = {"type"} if fact.types else set()
    for attribute, keywords in _KEYWORDS.items():
        value = getattr(fact, attribute)
        if not is_stated(attribute, value) or not is_expressible(attribute, fact):
            continue
        ends = {"min": value[0].low, "max": value[-1].high} if attribute in RANGES else {}
        unstated = [name for name, end in ends.items() if end is None]
        stated |= {key for key in keywords if not any(name in key.lower() for name in unstated)}
    return frozenset(stated)


def close_ends(fact: Fact) -> Fact:
    """Return the fact with the ends of its range included where the page does not say whether they are.

    `between 0 and 2` includes 0 and 2 in ordinary English.
    """
    closed = tuple(
        replace(
            interval,
            low_open=False if interval.low_open is None else interval.low_open,
            high_open=False if interval.high_open is None else interval.high_open,
        )
        for interval in fact.range
    )
    return replace(fact, range=closed)


def make_schema(fact: Fact) -> Schema:
    """Make a new schema that expresses a fact."""
    types = fact.types or ("string",) if fact.length or fact.formats else fact.types
    if len(types) > 1:
        node: Schema = {"anyOf": [{"type": name} for name in types]}
    else:
        node = {"type": types[0]} if types else {}
    return update_schema(node, fact, [name for name in ATTRIBUTES if name != "types"])


def update_schema(node: Schema, fact: Fact, attributes: Collection[str], removed: Collection[str] = ()) -> Schema:
    """Copy a schema, express some attributes of a fact in it, and remove the keywords of others, except `type`."""
    node = copy_tree(node)
    if fact.types and fact.format is None:
        node.pop("format", None)
    for attribute in removed:
        for branch in (node, *node.get("anyOf", ()), *node.get("oneOf", ())):
            for keyword in _KEYWORDS.get(attribute, ()):
                branch.pop(keyword, None)
    if "types" in attributes and is_stated("types", fact.types):
        kept = {key: value for key, value in node.items() if key not in ("type", "anyOf", "oneOf", "$ref")}
        node = {**make_schema(fact), **kept} if "$ref" not in node else make_schema(fact)
    for attribute in attributes:
        value = getattr(fact, attribute)
        if is_stated(attribute, value) and attribute in _EXPRESSIBLE:
            _set(node, attribute, value)
    return node


def _set(node: Schema, attribute: str, value: Any) -> None:
    match attribute:
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
    """Return the branch of a schema for these types, or the schema itself if it has no such branch."""
    branches: list[Schema] = node.get("anyOf") or node.get("oneOf") or []
    return next((branch for branch in branches if branch.get("type") in types), node)


def _set_sizes(node: Schema, value: Range, of: str) -> None:
    for end, bound in (("min", value[0].low), ("max", value[-1].high)):
        node.pop(f"{end}{of}", None)
        if bound is not None and (end, bound) != ("min", 0):
            node[f"{end}{of}"] = bound


def _set_range(node: Schema, value: Range) -> None:
    """Set the bounds of a schema. A bound that the page does not state stays, if it leaves values."""
    one, *others = value
    inherited = {key: node.pop(key) for key in (*_KEYWORDS["range"], "anyOf") if key in node}
    if not others and inherited.keys() <= _LOWER | _UPPER:
        if one.low is None and one.high is not None:
            node.update({key: bound for key, bound in inherited.items() if key in _LOWER and bound <= one.high})
        elif one.high is None and one.low is not None:
            node.update({key: bound for key, bound in inherited.items() if key in _UPPER and bound >= one.low})
    if node.get("type") == "integer" and others:
        one, *others = merge_integers(value)
    if not others:
        node.update(_bounds(one, node))
    elif len(others) == 1 and (excluded := _excluded_integer(one, others[0])) is not None:
        node.update(_bounds(Interval(one.low, others[0].high), node))
        node["not"] = {"const": excluded}
    else:
        kind = node.pop("type", None)
        node["anyOf"] = [{"type": kind, **_bounds(interval, {"type": kind})} for interval in value]


def _excluded_integer(one: Interval, other: Interval) -> int | None:
    """Return the integer between two closed intervals, if there is exactly one."""
    if isinstance(one.high, int) and isinstance(other.low, int) and other.low - one.high == 2:
        return one.high + 1
    return None


def _bounds(interval: Interval, node: Schema) -> Schema:
    bounds: Schema = {}
    for end, bound, opened in (
        ("Minimum", interval.low, interval.low_open),
        ("Maximum", interval.high, interval.high_open),
    ):
        if bound is not None and opened is not None and not isinstance(bound, str):
            bounds[f"exclusive{end}" if opened else end.lower()] = _json_number(bound, node)
    return bounds


def _json_number(bound: Number, node: Schema) -> float:
    return bound if isinstance(bound, int) and node.get("type") == "integer" else float(bound)
