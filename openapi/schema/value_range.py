"""Compute the range of values that a field accepts, and compare two ranges: each difference is narrower or wider.

A field may have several schemas; a value is in the range if one of them accepts it. The bounds of numbers and sizes are
compared one by one, so that `[0, 2]` and `[0, 1]` have one difference, in the maximum.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from openapi.schema.fields import expand_branches
from openapi.schema.notation import format_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openapi.schema.json_schema import Schema, Schemas

KINDS: Final = ("null", "boolean", "number", "string", "array", "object")
SIZES: Final = {"string": "Length", "array": "Items", "object": "Properties"}
UPPER_LIMITS: Final = ("x-maxCharacters", "x-maxMediaBytes")
OTHER_KEYWORDS: Final = ("pattern", "multipleOf", "uniqueItems", "not", "propertyNames", "contains")
FORMATS: Final = "x-mediaFormats"
CLOSED: Final = "additionalProperties"


class Direction(StrEnum):
    """Whether the second range accepts fewer values than the first, or more."""

    NARROWER = "narrower"
    WIDER = "wider"


@dataclass(frozen=True, slots=True)
class RangeChange:
    """One difference between two ranges.

    what: a keyword, `null`, `type` or `values`.
    before, after: the bound or the values on each side; "" without any.
    """

    what: str
    direction: Direction
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Limit:
    """A lower or upper bound. If `exclusive`, the bound itself is out of range."""

    value: float
    upper: bool
    exclusive: bool = False

    def __str__(self) -> str:
        sign = ("<" if self.exclusive else "≤") if self.upper else (">" if self.exclusive else "≥")
        return f"{sign} {format_number(self.value)}"

    @property
    def looseness(self) -> tuple[float, bool]:
        """Sort key: larger for the bound that accepts more values."""
        return (self.value if self.upper else -self.value), not self.exclusive


@dataclass(frozen=True, slots=True)
class KindRange:
    """The accepted values of one kind.

    values: all of them, or None if they are not enumerated.
    integers_only: for numbers, whether fractions are out of range.
    limits: the bounds by their keywords.
    formats: media formats that a URL may point to; empty if any.
    others: all other keywords, as JSON.
    """

    values: tuple[Any, ...] | None
    integers_only: bool
    limits: Mapping[str, Limit]
    formats: tuple[str, ...]
    others: Mapping[str, str]


ValueRange = dict[str, KindRange]
"""The accepted values by their kind. The kinds are the types of JSON; integers are numbers."""


def value_range(alternatives: Iterable[Schema], schemas: Schemas) -> ValueRange:
    """Compute the range of a field from the schemas that describe it."""
    branches = [branch for schema in alternatives for branch in expand_branches(schema, schemas)]
    of_kind = {kind: [branch for branch in branches if kind in _kinds(branch)] for kind in KINDS}
    return {kind: _kind_range(kind, accepting) for kind, accepting in of_kind.items() if accepting}


def compare_ranges(before: ValueRange, after: ValueRange) -> Iterator[RangeChange]:
    """Yield the differences between two ranges."""
    for kind in KINDS:
        if kind in before and kind in after:
            yield from _compare_kind(before[kind], after[kind])
        elif kind == "null" and kind in before:
            yield RangeChange("null", Direction.NARROWER, "accepted", "refused")
        elif kind == "null" and kind in after:
            yield RangeChange("null", Direction.WIDER, "refused", "accepted")
        elif kind in before:
            yield RangeChange("type", Direction.NARROWER, kind, "")
        elif kind in after:
            yield RangeChange("type", Direction.WIDER, "", kind)


def _kind_range(kind: str, branches: Sequence[Schema]) -> KindRange:
    enumerated = [_enumerated(kind, branch) for branch in branches]
    not_enumerated = [branch for branch, values in zip(branches, enumerated, strict=True) if values is None]
    values = list({json.dumps(value): value for branch_values in enumerated for value in branch_values or ()}.values())
    return KindRange(
        values=None if not_enumerated else tuple(values),
        integers_only=kind == "number" and all(_is_integer(branch) for branch in branches),
        limits=_limits(kind, not_enumerated, values) if not_enumerated else {},
        formats=tuple(dict.fromkeys(name for branch in not_enumerated for name in branch.get(FORMATS, ()))),
        others=_other_keywords(not_enumerated),
    )


def _other_keywords(branches: Sequence[Schema]) -> dict[str, str]:
    keywords: dict[str, str] = {}
    for key in OTHER_KEYWORDS:
        if any(key in branch for branch in branches):
            values = dict.fromkeys(json.dumps(branch.get(key), sort_keys=True) for branch in branches)
            keywords[key] = " or ".join(values)
    if branches and all(branch.get(CLOSED) is False for branch in branches):
        keywords[CLOSED] = "false"
    return keywords


def _kinds(branch: Schema) -> set[str]:
    if "const" in branch or "enum" in branch:
        values = [branch["const"]] if "const" in branch else branch["enum"]
        return {_kind(value) for value in values}
    declared = branch.get("type", "object" if "properties" in branch else KINDS)
    types = {declared} if isinstance(declared, str) else set(declared)
    return {"number" if name == "integer" else name for name in types}


def _kind(value: object) -> str:
    kinds = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


def _enumerated(kind: str, branch: Schema) -> list[Any] | None:
    """Return the only values of a kind that a branch accepts, or None if they are not enumerated."""
    if "const" in branch or "enum" in branch:
        values = [branch["const"]] if "const" in branch else branch["enum"]
        return [value for value in values if _kind(value) == kind]
    if kind == "boolean":
        return [False, True]
    return [None] if kind == "null" else None


def _is_integer(branch: Schema) -> bool:
    values = _enumerated("number", branch)
    if values is not None:
        return all(isinstance(value, int) for value in values)
    declared = branch.get("type", ())
    return declared == "integer" or ("integer" in declared and "number" not in declared)


def _limits(kind: str, branches: Sequence[Schema], values: Sequence[Any]) -> dict[str, Limit]:
    """Return the loosest limits of all branches; without a limit in every branch, none applies."""
    limits: dict[str, Limit] = {}
    if kind == "number":
        for name, upper in (("minimum", False), ("maximum", True)):
            ends = [_bound(branch, name, upper) for branch in branches]
            ends += [Limit(value, upper) for value in values]
            _set_loosest(limits, name, ends)
    elif kind in SIZES:
        low, high = f"min{SIZES[kind]}", f"max{SIZES[kind]}"
        lengths = (*(branch.get(low, 0) for branch in branches), *map(len, values))
        _set_loosest(limits, low, [Limit(size, upper=False) for size in lengths])
        for name in (high, *UPPER_LIMITS):
            sizes = [branch.get(name) for branch in branches]
            _set_loosest(limits, name, [None if size is None else Limit(size, upper=True) for size in sizes])
    return limits


def _bound(branch: Schema, name: str, upper: bool) -> Limit | None:
    exclusive = f"exclusive{name.capitalize()}"
    ends = [Limit(branch[key], upper, key == exclusive) for key in (name, exclusive) if key in branch]
    return min(ends, key=lambda end: end.looseness) if ends else None


def _set_loosest(limits: dict[str, Limit], name: str, ends: Sequence[Limit | None]) -> None:
    known = [end for end in ends if end is not None]
    if known and len(known) == len(ends):
        limits[name] = max(known, key=lambda end: end.looseness)


def _compare_kind(before: KindRange, after: KindRange) -> Iterator[RangeChange]:
    if before.integers_only != after.integers_only:
        direction = Direction.NARROWER if after.integers_only else Direction.WIDER
        yield RangeChange(
            "type", direction, *("integer" if side.integers_only else "number" for side in (before, after))
        )
    if before.values is not None or after.values is not None:
        yield from _compare_values(before.values, after.values)
        return
    for name in dict.fromkeys([*before.limits, *after.limits]):
        old, new = before.limits.get(name), after.limits.get(name)
        if old != new and not (before.integers_only and after.integers_only and _same_integers(old, new)):
            narrower = old is None or (new is not None and new.looseness < old.looseness)
            direction = Direction.NARROWER if narrower else Direction.WIDER
            yield RangeChange(name, direction, str(old or "none"), str(new or "none"))
    for change in _compare_values(before.formats, after.formats):
        yield RangeChange(FORMATS, change.direction, change.before, change.after)
    for name in dict.fromkeys([*before.others, *after.others]):
        was, now = before.others.get(name, ""), after.others.get(name, "")
        if was != now:
            yield RangeChange(name, Direction.NARROWER if now else Direction.WIDER, was, now)


def _compare_values(before: Sequence[Any] | None, after: Sequence[Any] | None) -> Iterator[RangeChange]:
    if before is None or after is None:
        direction = Direction.NARROWER if before is None else Direction.WIDER
        yield RangeChange("values", direction, *("any" if side is None else _shown(side) for side in (before, after)))
        return
    lost = [value for value in before if value not in after]
    gained = [value for value in after if value not in before]
    if lost:
        yield RangeChange("values", Direction.NARROWER, _shown(lost), "")
    if gained:
        yield RangeChange("values", Direction.WIDER, "", _shown(gained))


def _same_integers(one: Limit | None, other: Limit | None) -> bool:
    """Return whether two limits are equal for integers, as `> 0` and `≥ 1` are."""
    if one is None or other is None:
        return False
    first, second = (side.value + (0 if not side.exclusive else -1 if side.upper else 1) for side in (one, other))
    return first == second


def _shown(values: Sequence[Any]) -> str:
    return ", ".join(json.dumps(value, ensure_ascii=False) for value in values)
