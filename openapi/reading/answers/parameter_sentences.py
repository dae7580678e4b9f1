"""Read sentences of paragraphs that are about one parameter or field: "`temperature` must be between 0 and 2."."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from openapi.reading.answers.json_text import read_inline
from openapi.reading.answers.sentences import split_sentences
from openapi.reading.grammar.descriptions import may_hold_fact
from openapi.reading.pages.columns import detect_part
from openapi.reading.pages.names import PATH, parse_name
from openapi.reading.pages.nesting import load_outline
from openapi.reading.pages.row import Cell, Item, Rows, TableRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openapi.reading.answers.passages import Passage
    from openapi.reading.pages.row import Part

_SUBJECT: Final = re.compile(
    rf"(?:(?:the|a|an|each|every) )?(?:[a-z]+ )?`(?P<name>{PATH})`"
    r"(?: (?:parameter|field|property|option|value|key|list|array|object|string|setting))?"
    r"(?P<rest> (?:is|are|must|may|can|cannot|should|shall|has|have|holds?|takes?|accepts?|contains?|defaults?|lists?"
    r"|ranges?|never|always|only|consists?|allows?|supports?)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_FOLLOWING: Final = re.compile(
    r"(?:it|its|this|they|the (?:value|default|range|list|string|number)|values?)\b", re.IGNORECASE
)


def read_parameter_sentences(rows: Rows, passages: Sequence[Passage]) -> tuple[Rows, list[Passage]]:
    """Return the rows with those of sentences, and the passages without these sentences.

    A sentence is about what its subject names, if other rows or the interface have it, and so are those about `it`.
    """
    known = {row.path[-1] for row in rows.rows}
    taken = {line for row in rows.rows for line in _lines(row)}
    added: list[TableRow] = []
    left: list[Passage] = []
    is_section = False
    for passage in passages:
        is_section = passage.line in taken if passage.kind == "title" else is_section
        if is_section or passage.kind != "words" or set(range(passage.line, passage.end)) & taken:
            left.append(passage)
            continue
        part = detect_part((), passage.headings, "")
        found: list[TableRow] = []
        others: list[str] = []
        for sentence in split_sentences(passage.text):
            match = None if list(read_inline(sentence)) else _SUBJECT.fullmatch(sentence)
            written = parse_name(match["name"]) if match else None
            path = written.path if written else ()
            names = known | {item[-1] for item in load_outline(part)} if part else known
            if match and part and path and path[-1] in names:
                cell = Cell((Item(match["rest"].strip(), 0, passage.line),), passage.line)
                found.append(TableRow(part, _place(path, part, rows), passage.line, prose=cell))
            elif found and _FOLLOWING.match(sentence) and may_hold_fact(sentence, thorough=True):
                last = found[-1]
                items = (*(last.prose.items if last.prose else ()), Item(sentence, 0, passage.line))
                found[-1] = replace(last, prose=Cell(items, passage.line))
            else:
                others.append(sentence)
        added += found
        left.append(replace(passage, text=" ".join(others)) if found else passage)
    return replace(rows, rows=(*rows.rows, *added)), left


def _place(path: tuple[str, ...], part: Part, rows: Rows) -> tuple[str, ...]:
    """Return the whole path of a name: that of the only row that ends with it, or of the only such field elsewhere."""
    for paths in ({row.path for row in rows.rows if row.part == part}, set(load_outline(part))):
        if path in paths:
            return path
        ending = [known for known in paths if known[-len(path) :] == path]
        if ending:
            return ending[0] if len(ending) == 1 else path
    return path


def _lines(row: TableRow) -> list[int]:
    cells = [row.type, row.required, row.prose, row.value, *(cell for _, cell in row.others)]
    return [row.line, *(item.line for cell in cells if cell for item in cell.items)]
