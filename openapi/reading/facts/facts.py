"""Turn the rows of a page into facts: read every cell, group the statements by their subject, and complete the paths.

Two statements that contradict each other both count as unread, whether they are in one row or in two tables.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from openapi.reading.facts.cells import read_cell
from openapi.reading.facts.fact import ATTRIBUTES, RANGES, Fact, is_stated
from openapi.reading.facts.required_cells import read_required_cell, read_type_cell
from openapi.reading.facts.single_values import limit_single, move_to_elements
from openapi.reading.grammar.clauses import ParsedText, join
from openapi.reading.grammar.interval import meet, same_values
from openapi.reading.grammar.quantities.amounts import settle_amounts
from openapi.reading.grammar.statement import UNSTATED, DescribedDefault, Statement
from openapi.reading.grammar.types import is_value_list
from openapi.reading.grammar.vocabulary import normalize
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from openapi.reading.pages.row import Rows, TableRow, UnreadPassage


_ENUM = re.compile(r"(?:string )?(?:enum|enumeration|枚举)(?:类型|值| string)?", re.IGNORECASE)
_BETWEEN = re.compile(r"\s*(?:,\s*(?:or|and)\s|,|\||、|/|\s(?:or|and)\s|或者?|和)\s*")
_SWITCHED = {"on": True, "off": False, "enabled": True, "disabled": False, "yes": True, "no": False}
_NUMBERS = frozenset({"integer", "number"})
_JSON_TYPES = {str: "string", int: "integer", bool: "boolean"}


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
        row = _with_listed_values(row)
    if row.type:
        cells.append(read_type_cell(row.type.text, name))
    if row.value:
        cells.append(read_cell(row.value, name))
    if row.prose:  # without a value column, the description of a parameter contains its requirements
        is_prose = not strict or row.value is not None or row.part != "request"
        cells.append(read_cell(row.prose, name, prose=is_prose, thorough=not strict))
    for header, other in row.others:
        parsed = read_cell(other, name, prose=True, thorough=not strict)
        unread, prose = ([f"{header}: {text}" for text in texts] for texts in (parsed.unread, parsed.prose))
        cells.append(ParsedText(parsed.statements, tuple(unread), tuple(prose)))
    counts["read"] += 1
    for cell in cells:
        counts["read" if not cell.unread else "partly" if cell.statements else "unread"] += 1
    return join(cells)


def _with_listed_values(row: TableRow) -> TableRow:
    """Return a row with its values announced, if a description consists of them alone.

    A field of the type `enum` may list them in any words, another one has them in code: `text` or `json_object`.
    """
    kind = row.type.text.strip() if row.type else ""
    is_enum = _ENUM.fullmatch(kind) is not None
    for column in ("value", "prose"):
        cell = getattr(row, column)
        items = cell.items if cell else ()
        listed = [item for item in items if _lists_values(item.text.strip().rstrip("."), is_enum=is_enum)]
        if listed:
            others = tuple(item for item in items if item is not listed[0])
            announced = replace(listed[0], text=f"One of: {listed[0].text}")
            row = replace(row, **{column: replace(cell, items=(announced, *others))})
            return replace(row, type=None) if is_enum else row
    return row


def _lists_values(text: str, *, is_enum: bool) -> bool:
    is_code = all(part.startswith("`") and part.endswith("`") for part in _BETWEEN.split(text))
    return (is_enum or is_code) and is_value_list(" ".join(normalize(text).split()))


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
        attributes, contradictions = _attributes(statements)
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


def _attributes(statements: Iterable[Statement]) -> tuple[dict[str, Any], list[str]]:
    """Convert statements about one subject to attributes; return the texts of contradicting statements separately."""
    by_attribute: dict[str, list[Statement]] = {}
    for statement in statements:
        by_attribute.setdefault(statement.attribute, []).append(statement)
    also = tuple(name for statement in by_attribute.pop("also", ()) for name in statement.value)
    by_attribute.pop("exists", None)
    attributes: dict[str, Any] = {}
    contradictions: list[str] = []
    exception = next((item for item in by_attribute.get("required", ()) if item.value.startswith("unless")), None)
    if exception:  # one cell states a rule and another one its exception
        by_attribute["required"] = [exception]
    for attribute, stated in by_attribute.items():
        agreed = _agreed(attribute, stated)
        if agreed is None:
            contradictions.append(" / ".join(dict.fromkeys(statement.text for statement in stated)))
        else:
            attributes[attribute] = agreed.value
    if also:
        attributes["types"] = tuple(sorted({*attributes.get("types", ()), *also}))
    if "types" not in attributes and attributes.get("enum"):
        types = {_JSON_TYPES.get(type(value)) for value in attributes["enum"]}
        attributes.update({"types": tuple(sorted(types))} if None not in types else {})  # type: ignore[type-var]
    default = attributes.get("default")
    if isinstance(default, DescribedDefault) and str(default) in attributes.get("enum", ()):
        attributes["default"] = str(default)  # the word is one of the values
    if isinstance(default, DescribedDefault) and attributes.get("types") == ("boolean",):
        attributes["default"] = _SWITCHED.get(default.lower(), default)
    if is_stated("default", attributes.get("default", UNSTATED)) and "required" not in attributes:
        attributes["required"] = "no"  # a parameter with a default is optional
    types = attributes.get("types", ())
    if isinstance(attributes.get("default"), int) and "number" in types and "integer" not in types:
        attributes["default"] = float(attributes["default"])
    return attributes, contradictions


def _agreed(attribute: str, statements: Sequence[Statement]) -> Statement | None:
    """Return the most precise statement, or None if the statements contradict each other."""
    best, *others = statements
    for statement in others:
        if attribute in RANGES and (both := meet(best.value, statement.value)) is not None:
            best = replace(best, value=both, text=f"{best.text}; {statement.text}")
        elif attribute in RANGES and same_values(best.value, statement.value, whole=False):
            best = min(best, statement, key=lambda item: str(item.value).count("None"))
        elif attribute == "types" and (narrow := _narrow_numbers(best.value, statement.value)) is not None:
            best = replace(best, value=narrow)
        elif type(statement.value) is not type(best.value) or statement.value != best.value:
            return None
    return best


def _narrow_numbers(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the more precise of two lists of types, of which one leaves open whether a number is an integer."""
    for wide, narrow in ((one, other), (other, one)):
        if _NUMBERS <= set(wide) and set(wide) - _NUMBERS == set(narrow) - _NUMBERS and _NUMBERS & set(narrow):
            return narrow
    return None


def _join_facts(one: Fact, other: Fact) -> Fact:
    """Join two facts about the same path, from two tables of a page."""
    attributes: dict[str, Any] = {}
    contradictions = []
    for attribute in ATTRIBUTES:
        left, right = getattr(one, attribute), getattr(other, attribute)
        if attribute == "types" and (narrow := _narrow_numbers(left, right)) is not None:
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
