"""From rows to facts: every cell read, pieces gathered by what they are about, paths completed."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from openapi.reading.facts.cells import read_cell
from openapi.reading.facts.fact import MEMBERS, RANGES, Fact, is_stated
from openapi.reading.facts.required_cells import required, typed
from openapi.reading.grammar.interval import same
from openapi.reading.grammar.statement import UNSTATED, Statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openapi.reading.grammar.clauses import ParsedText
    from openapi.reading.pages.row import Left, Row, Rows


_JSON = {str: "string", int: "integer", bool: "boolean"}


@dataclass(frozen=True, slots=True)
class Count:
    """How many cells of parameter rows were read whole, read in part, and left whole to a person."""

    read: int = 0
    partly: int = 0
    left: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """All that was read of a page: facts in the order of the page, what was left, and the count of cells."""

    form: str
    facts: tuple[Fact, ...]
    left: tuple[Left, ...]
    count: Count
    rows: int


def facts_of(page: Rows) -> Facts:
    """The facts of a page's rows. Rows that tell of one path twice become one fact; where they differ, that is left."""
    found: dict[tuple[str, str], Fact] = {}
    tally = [0, 0, 0]
    for row in page.rows:
        pieces, unread = _read_row(row, tally)
        for fact in _facts(row, _path(row, found), pieces, unread):
            key = (fact.part, fact.path)
            found[key] = _joined(found[key], fact) if key in found else fact
    return Facts(page.form, tuple(found.values()), page.left, Count(*tally), len(page.rows))


def _read_row(row: Row, tally: list[int]) -> tuple[list[Statement], list[str]]:
    """What all cells of a row say. `tally` counts them: read, partly, left; the name is a cell as well."""
    name = row.path[-1]
    said: list[ParsedText] = []
    if row.required:
        said.append(required(row.required.text))
    if row.type:
        said.append(typed(row.type.text, name))
    if row.value:
        said.append(read_cell(row.value, name))
    if row.prose:  # where a parameter has no column for its value, the description demands
        said.append(read_cell(row.prose, name, prose=row.value is not None or row.part != "request"))
    tally[0] += 1
    for each in said:
        tally[0 if not each.unread else 1 if each.pieces else 2] += 1
    return [piece for each in said for piece in each.pieces], [text for each in said for text in each.unread]


def _path(row: Row, found: dict[tuple[str, str], Fact]) -> str:
    """The path with `[]` behind every parent that is a list."""
    path = row.path[0]
    for name in row.path[1:]:
        parent = found.get((row.part, path))
        path = f"{path}[].{name}" if parent and "array" in parent.types else f"{path}.{name}"
    return path


def _facts(row: Row, path: str, pieces: Sequence[Statement], unread: Sequence[str]) -> list[Fact]:
    """The fact of a row and those of the elements and members that its cells speak of."""
    by_place: dict[str, list[Statement]] = {"": []}
    for piece in pieces:
        by_place.setdefault(piece.at, []).append(piece)
    facts = []
    for at, about in by_place.items():
        members, doubts = _members(about)
        facts.append(
            Fact(
                part=row.part,
                path=path + at,
                line=row.line,
                supported=row.supported,
                unread=(*unread, *doubts) if at == "" else tuple(doubts),
                read=tuple(about),
                **members,
            )
        )
    return facts


def _members(pieces: Iterable[Statement]) -> tuple[dict[str, Any], list[str]]:
    """Pieces about one place as members. Where two disagree, neither counts and both are left."""
    by_member: dict[str, list[Statement]] = {}
    for piece in pieces:
        by_member.setdefault(piece.attribute, []).append(piece)
    also = tuple(name for piece in by_member.pop("also", ()) for name in piece.value)
    by_member.pop("exists", None)
    members: dict[str, Any] = {}
    doubts: list[str] = []
    exception = next((p for p in by_member.get("required", ()) if p.value.startswith("unless")), None)
    if exception:  # a rule and its exception, from two cells
        by_member["required"] = [exception]
    for member, said in by_member.items():
        agreed = _agreed(member, said)
        if agreed is None:
            doubts.append(" / ".join(dict.fromkeys(piece.text for piece in said)))
        else:
            members[member] = agreed.value
    if also:
        members["types"] = tuple(sorted({*members.get("types", ()), *also}))
    if "types" not in members and members.get("enum"):
        kinds = {_JSON.get(type(value)) for value in members["enum"]}
        members.update({"types": tuple(sorted(kinds))} if None not in kinds else {})  # type: ignore[type-var]
    if is_stated("default", members.get("default", UNSTATED)) and "required" not in members:
        members["required"] = "no"  # what has a default can be left out
    if isinstance(members.get("default"), int) and "number" in members.get("types", ()):
        members["default"] = float(members["default"])
    return members, doubts


def _agreed(member: str, said: Sequence[Statement]) -> Statement | None:
    """The piece that says most, when all agree."""
    most, *others = said
    for piece in others:
        if member in RANGES and same(most.value, piece.value, whole=False):
            most = min(most, piece, key=lambda each: str(each.value).count("None"))
        elif type(piece.value) is not type(most.value) or piece.value != most.value:
            return None
    return most


def _joined(one: Fact, other: Fact) -> Fact:
    """Two facts about the same path, from two tables of the page."""
    members: dict[str, Any] = {}
    doubts = []
    for member in MEMBERS:
        left, right = getattr(one, member), getattr(other, member)
        if is_stated(member, left) and is_stated(member, right) and not _equal(member, left, right):
            members[member] = next(field.default for field in fields(Fact) if field.name == member)
            doubts.append(f"{member}: the page says both {left!r} and {right!r}")
        else:
            members[member] = left if is_stated(member, left) else right
    unread = tuple(dict.fromkeys((*one.unread, *other.unread, *doubts)))
    return replace(one, **members, unread=unread, read=(*one.read, *other.read))


def _equal(member: str, one: Any, other: Any) -> bool:
    return type(one) is type(other) and (same(one, other, whole=False) if member in RANGES else one == other)


def figures(fact: Fact) -> tuple[str, ...]:
    """Every figure in what was left unread of a fact, in its order."""
    return tuple(re.findall(r"(?<!\w)-\d+(?:\.\d+)?|\d+(?:\.\d+)?", " ".join(fact.unread)))
