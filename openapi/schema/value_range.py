"""Extents: how far the values of a member reach, and how two extents differ, each difference narrower or wider.

Several schemas of one member are taken together: what one of them takes belongs to the extent. The bounds of numbers
and sizes are compared one by one, so that `[0, 2]` against `[0, 1]` is one difference, of the maximum.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from openapi.schema.fields import branches
from openapi.schema.notation import WORDS, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openapi.schema.json_schema import Schema, Schemas

KINDS: Final = ("null", "boolean", "number", "string", "array", "object")
SIZES: Final = {"string": "Length", "array": "Items", "object": "Properties"}
CEILINGS: Final = ("x-maxCharacters", "x-maxMediaBytes")
OTHERS: Final = ("pattern", "multipleOf", "uniqueItems", "not", "propertyNames", "contains")
FORMATS: Final = "x-mediaFormats"
CLOSED: Final = "additionalProperties"


class Direction(StrEnum):
    """Whether the second extent holds less than the first, or more."""

    NARROWER = "narrower"
    WIDER = "wider"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference of two extents. `what` is a keyword, `null`, `type` or `values`; "" where a side says nothing."""

    what: str
    direction: Direction
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Limit:
    """One end of a range. `out`: the value itself is outside. `upper`: values beyond it are outside, else below it."""

    value: float
    upper: bool
    out: bool = False

    def __str__(self) -> str:
        sign = ("<" if self.out else "≤") if self.upper else (">" if self.out else "≥")
        return f"{sign} {number(self.value)}"

    @property
    def reach(self) -> tuple[float, bool]:
        """Larger for the limit that leaves more inside."""
        return (self.value if self.upper else -self.value), not self.out


@dataclass(frozen=True, slots=True)
class Reach:
    """The values of one kind. `values` is None where it is not a list of values; `others` are keywords as JSON.

    `whole`: numbers without a fraction only. `formats`: of media that a text may lead to; empty where nothing is said.
    """

    values: tuple[Any, ...] | None
    whole: bool
    limits: Mapping[str, Limit]
    formats: tuple[str, ...]
    others: Mapping[str, str]


Extent = dict[str, Reach]
"""Kind of value -> which of them. Kinds are those of JSON, with integers among the numbers."""


def extent(alternatives: Iterable[Schema], schemas: Schemas) -> Extent:
    """The extent of a member that these schemas describe."""
    forms = [form for schema in alternatives for form in branches(schema, schemas)]
    of_kind = {kind: [form for form in forms if kind in _kinds(form)] for kind in KINDS}
    return {kind: _reach(kind, found) for kind, found in of_kind.items() if found}


def changes(before: Extent, after: Extent) -> Iterator[Change]:
    """How the second extent differs from the first."""
    for kind in KINDS:
        if kind in before and kind in after:
            yield from _changes_within(before[kind], after[kind])
        elif kind == "null" and kind in before:
            yield Change("null", Direction.NARROWER, "taken", "refused")
        elif kind == "null" and kind in after:
            yield Change("null", Direction.WIDER, "refused", "taken")
        elif kind in before:
            yield Change("type", Direction.NARROWER, WORDS.get(kind, kind), "")
        elif kind in after:
            yield Change("type", Direction.WIDER, "", WORDS.get(kind, kind))


def _reach(kind: str, forms: Sequence[Schema]) -> Reach:
    listed = [_listed(kind, form) for form in forms]
    still_open = [form for form, values in zip(forms, listed, strict=True) if values is None]
    values = list({json.dumps(value): value for found in listed for value in found or ()}.values())
    return Reach(
        values=None if still_open else tuple(values),
        whole=kind == "number" and all(_is_whole(form) for form in forms),
        limits=_limits(kind, still_open, values) if still_open else {},
        formats=tuple(dict.fromkeys(name for form in still_open for name in form.get(FORMATS, ()))),
        others=_others(still_open),
    )


def _others(forms: Sequence[Schema]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in OTHERS:
        if any(key in form for form in forms):
            found[key] = " or ".join(dict.fromkeys(json.dumps(form.get(key), sort_keys=True) for form in forms))
    if forms and all(form.get(CLOSED) is False for form in forms):
        found[CLOSED] = "false"
    return found


def _kinds(form: Schema) -> set[str]:
    if "const" in form or "enum" in form:
        values = [form["const"]] if "const" in form else form["enum"]
        return {_kind(value) for value in values}
    named = form.get("type", "object" if "properties" in form else KINDS)
    names = {named} if isinstance(named, str) else set(named)
    return {"number" if name == "integer" else name for name in names}


def _kind(value: object) -> str:
    kinds = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


def _listed(kind: str, form: Schema) -> list[Any] | None:
    """The only values of one kind that a form takes, or None when they are not listed."""
    if "const" in form or "enum" in form:
        values = [form["const"]] if "const" in form else form["enum"]
        return [value for value in values if _kind(value) == kind]
    if kind == "boolean":
        return [False, True]
    return [None] if kind == "null" else None


def _is_whole(form: Schema) -> bool:
    values = _listed("number", form)
    if values is not None:
        return all(isinstance(value, int) for value in values)
    named = form.get("type", ())
    return named == "integer" or ("integer" in named and "number" not in named)


def _limits(kind: str, forms: Sequence[Schema], values: Sequence[Any]) -> dict[str, Limit]:
    """The outermost limits of all forms; a limit that one of them lacks does not exist."""
    found: dict[str, Limit] = {}
    if kind == "number":
        for name, upper in (("minimum", False), ("maximum", True)):
            ends = [_end(form, name, upper) for form in forms]
            ends += [Limit(value, upper) for value in values]
            _keep(found, name, ends)
    elif kind in SIZES:
        low, high = f"min{SIZES[kind]}", f"max{SIZES[kind]}"
        _keep(found, low, [Limit(size, upper=False) for size in (*_said(forms, low, 0), *map(len, values))])
        _keep(found, high, [size if size is None else Limit(size, upper=True) for size in _said(forms, high, None)])
        for name in CEILINGS:
            _keep(found, name, [size if size is None else Limit(size, upper=True) for size in _said(forms, name, None)])
    return found


def _said(forms: Sequence[Schema], keyword: str, unsaid: Any) -> list[Any]:
    return [form.get(keyword, unsaid) for form in forms]


def _end(form: Schema, name: str, upper: bool) -> Limit | None:
    exclusive = f"exclusive{name.capitalize()}"
    ends = [Limit(form[key], upper, key == exclusive) for key in (name, exclusive) if key in form]
    return min(ends, key=lambda end: end.reach) if ends else None


def _keep(found: dict[str, Limit], name: str, ends: Sequence[Limit | None]) -> None:
    said = [end for end in ends if end is not None]
    if said and len(said) == len(ends):
        found[name] = max(said, key=lambda end: end.reach)


def _changes_within(before: Reach, after: Reach) -> Iterator[Change]:
    if before.whole != after.whole:
        direction = Direction.NARROWER if after.whole else Direction.WIDER
        yield Change("type", direction, *("integer" if side.whole else "number" for side in (before, after)))
    if before.values is not None or after.values is not None:
        yield from _values_changed(before.values, after.values)
        return
    for name in dict.fromkeys([*before.limits, *after.limits]):
        old, new = before.limits.get(name), after.limits.get(name)
        if old != new and not (before.whole and after.whole and _same_integers(old, new)):
            narrower = old is None or (new is not None and new.reach < old.reach)
            direction = Direction.NARROWER if narrower else Direction.WIDER
            yield Change(name, direction, str(old or "none"), str(new or "none"))
    for change in _values_changed(before.formats, after.formats):
        yield Change(FORMATS, change.direction, change.before, change.after)
    for name in dict.fromkeys([*before.others, *after.others]):
        was, now = before.others.get(name, ""), after.others.get(name, "")
        if was != now:
            yield Change(name, Direction.NARROWER if now else Direction.WIDER, was, now)


def _values_changed(before: Sequence[Any] | None, after: Sequence[Any] | None) -> Iterator[Change]:
    if before is None or after is None:
        direction = Direction.NARROWER if before is None else Direction.WIDER
        yield Change("values", direction, *("any" if side is None else _shown(side) for side in (before, after)))
        return
    lost = [value for value in before if value not in after]
    gained = [value for value in after if value not in before]
    if lost:
        yield Change("values", Direction.NARROWER, _shown(lost), "")
    if gained:
        yield Change("values", Direction.WIDER, "", _shown(gained))


def _same_integers(one: Limit | None, other: Limit | None) -> bool:
    """Among integers `> 0` and `≥ 1` are one limit."""
    if one is None or other is None:
        return False
    first, second = (side.value + (0 if not side.out else -1 if side.upper else 1) for side in (one, other))
    return first == second


def _shown(values: Sequence[Any]) -> str:
    return ", ".join(json.dumps(value, ensure_ascii=False) for value in values)
