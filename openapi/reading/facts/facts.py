"""Turn the rows of a page into facts: read every cell, group the statements by their subject, and complete the paths.

Two statements that contradict each other both count as unread, whether they are in one row or in two tables.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from openapi.reading.facts.attributes import agree_attributes, narrow_numbers
from openapi.reading.facts.cells import read_cell
from openapi.reading.facts.fact import ATTRIBUTES, RANGES, Fact, is_stated
from openapi.reading.facts.listed_values import announce_values
from openapi.reading.facts.required_cells import read_required_cell, read_type_cell
from openapi.reading.facts.single_values import limit_single, move_to_elements
from openapi.reading.grammar.clauses import ParsedText, join
from openapi.reading.grammar.interval import same_values
from openapi.reading.grammar.quantities.amounts import settle_amounts
from openapi.reading.grammar.statement import Statement
from openapi.reading.pages.column_cells import EXAMPLES
from openapi.reading.pages.row import is_blank
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from openapi.reading.pages.row import Cell, Rows, TableRow, UnreadPassage


@dataclass(frozen=True, slots=True)
class Count:
    """Number of cells of parameter rows that were read completely, in part, and not at all."""

    read: int = 0
    partly: int = 0
    unread: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a page in its order, the parts of it that were not read, and the number of cells."""

    form: str
    facts: tuple[Fact, ...]
    unread: tuple[UnreadPassage, ...]
    count: Count
    rows: int


def read_facts(page: Rows, *, strict: bool = True) -> Facts:
    """Read the facts of a page. Rows about one path become one fact, without the attributes in which they differ.

    strict: whether the description of a parameter counts as unread without a word that may state a fact, if the table
        has no column for the requirements on the value. If not, more words count that may state one.
    """
    facts: dict[tuple[str, str], Fact] = {}
    counts: Counter[str] = Counter()
    marked = set() if strict else _list_marked(page.rows)
    for row in page.rows:
        parsed = _read_row(row, counts, strict=strict, is_marked=row.part in marked)
        for fact in _row_facts(row, _path(row, facts), parsed):
            key = (fact.part, fact.path)
            facts[key] = _join_facts(facts[key], fact) if key in facts else fact
    return Facts(
        page.form,
        tuple(facts.values()),
        page.unread,
        Count(counts["read"], counts["partly"], counts["unread"]),
        len(page.rows),
    )


def _list_marked(rows: Iterable[TableRow]) -> set[str]:
    """Return the parts whose tables mark the required fields and leave the cells of the others empty."""
    cells: dict[str, set[str]] = {}
    for row in rows:
        if row.required and row.required.text.strip():
            read = read_required_cell(row.required.text).statements
            cells.setdefault(row.part, set()).update(str(item.value) for item in read or (Statement("", "unread"),))
    return {part for part, answers in cells.items() if answers == {"yes"}}


def _read_row(row: TableRow, counts: Counter[str], *, strict: bool, is_marked: bool) -> ParsedText:
    """Read all cells of a row and count them; the name counts as a cell that was read.

    is_marked: whether an empty cell of the column `required` means that the field is optional.
    """
    name = row.path[-1]
    cells: list[ParsedText] = []
    if row.required:
        is_optional = is_marked and not row.required.text.strip()
        cells.append(read_required_cell("no" if is_optional else row.required.text))
    if row.type and not strict:
        row = announce_values(row)
    if row.type:
        cells.append(read_type_cell(row.type.text, name))
    if row.value and not (row.value.items and is_blank(row.value)):
        cells.append(read_cell(row.value, name))
    if row.prose and not (row.prose.items and _says_nothing(row.prose)):
        # without a value column, the description of a parameter contains its requirements
        is_prose = not strict or row.value is not None or row.part != "request"
        cells.append(read_cell(row.prose, name, prose=is_prose, thorough=not strict))
    for header, other in row.others:
        parsed = read_cell(other, name, prose=True, thorough=not strict)
        unread, prose = ([f"{header}: {text}" for text in texts] for texts in (parsed.unread, parsed.prose))
        if EXAMPLES.search(header):
            unread, prose = [], [*unread, *prose]
        cells.append(ParsedText(parsed.statements, tuple(unread), tuple(prose)))
    counts["read"] += 1
    for cell in cells:
        counts["read" if not cell.unread else "partly" if cell.statements else "unread"] += 1
    return join(cells)


def _says_nothing(cell: Cell) -> bool:
    """Return whether a description has no words: `None` in it says nothing about null."""
    return is_blank(cell) or cell.text.strip(" `").lower() in ("none", "null", "nil")


def _path(row: TableRow, facts: Mapping[tuple[str, str], Fact]) -> str:
    """Return the path of a row, with `[]` after every parent that is a list."""
    path = row.path[0]
    for name in row.path[1:]:
        parent = facts.get((row.part, path))
        path = f"{path}[].{name}" if parent and "array" in parent.types else f"{path}.{name}"
    return path


def _row_facts(row: TableRow, path: str, parsed: ParsedText) -> list[Fact]:
    """Make the fact of a row, and those of the elements and fields that its cells describe."""
    by_subject: dict[str, list[Statement]] = {"": []}
    misplaced = _misplaced(parsed.statements)
    misplaced_texts = [item.text for item in misplaced]
    for statement in parsed.statements:
        if any(statement is item for item in misplaced):
            continue
        by_subject.setdefault(statement.at, []).append(statement)
    move_to_elements(by_subject)
    by_subject[""] += limit_single(by_subject)
    facts = []
    for at, stated in by_subject.items():
        statements, misfits = settle_amounts(stated)
        attributes, contradictions = agree_attributes(statements)
        contradictions += misfits
        facts.append(
            Fact(
                part=row.part,
                path=path + at,
                line=row.line,
                supported=attributes.pop("supported", row.supported),
                unread=(*parsed.unread, *misplaced_texts, *contradictions) if at == "" else (*contradictions,),
                read=tuple(statements),
                prose=parsed.prose if at == "" else (),
                **attributes,
            )
        )
    return facts


def _misplaced(statements: Sequence[Statement]) -> list[Statement]:
    """Return the amounts of elements that a value of the stated types does not have."""
    types = {name for item in statements if item.attribute == "types" and not item.at for name in item.value}
    elements = [item for item in statements if item.at == "[]" and item.attribute in RANGES]
    return elements if types and "array" not in types else []


def _join_facts(one: Fact, other: Fact) -> Fact:
    """Join two facts about the same path, from two tables of a page."""
    attributes: dict[str, Any] = {}
    contradictions = []
    for attribute in ATTRIBUTES:
        left, right = getattr(one, attribute), getattr(other, attribute)
        if attribute == "types" and (narrow := narrow_numbers(left, right)) is not None:
            left = right = narrow
        if is_stated(attribute, left) and is_stated(attribute, right) and not _same_value(attribute, left, right):
            attributes[attribute] = next(field.default for field in fields(Fact) if field.name == attribute)
            contradictions.append(f"{attribute}: the page states both {left!r} and {right!r}")
        else:
            attributes[attribute] = left if is_stated(attribute, left) else right
    unread = tuple(dict.fromkeys((*one.unread, *other.unread, *contradictions)))
    prose = tuple(dict.fromkeys((*one.prose, *other.prose)))
    return replace(one, **attributes, unread=unread, read=(*one.read, *other.read), prose=prose)


def _same_value(attribute: str, one: Any, other: Any) -> bool:
    return type(one) is type(other) and (same_values(one, other, whole=False) if attribute in RANGES else one == other)


def unread_numbers(fact: Fact) -> tuple[str, ...]:
    """Return every number in the unread text of a fact, in order."""
    return tuple(re.findall(r"(?<!\w)-\d+(?:\.\d+)?|\d+(?:\.\d+)?", " ".join(fact.unread)))


def cells_line(facts: Facts) -> str:
    """Format the number of cells that were read."""
    count = facts.count
    return f"{format_quantity(count.read, 'cell')} read, {count.partly} in part, {count.unread} not read"
