"""Read headings that are names of parameters, each with its type and its description in the heading or below it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.vocabulary import normalize
from openapi.reading.pages.columns import NO_PART, detect_part
from openapi.reading.pages.entries.signature import LABELLED, is_signature, make_row, split_words
from openapi.reading.pages.headings import enclosing_headings
from openapi.reading.pages.nesting import load_outline, name_request
from openapi.reading.pages.row import TableRow, UnreadPassage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.reading.pages.entries.parameter_sections import ParameterSections
    from openapi.reading.pages.headings import Position
    from openapi.reading.pages.row import Item, Part

    Result = tuple[Position, TableRow | UnreadPassage]

_SENTENCE: Final = re.compile(r"(?<=\.)\s+(?=[A-Z`])")
_ANSWERS: Final = {
    **dict.fromkeys(("yes", "true", "required", "是", "必填", "必选"), "required"),
    **dict.fromkeys(("no", "false", "optional", "否", "可选", "选填"), "optional"),
}


def read_parameter_headings(
    found: ParameterSections, listed: Sequence[Result], *, alone: bool = False
) -> Iterator[Result]:
    """Yield a row for each heading that is a parameter, and the rows of lists; those below such a heading are fields.

    listed: the rows of lists, with their positions. Entries without a type below such a heading are values of the
        parameter, which its own row has.
    alone: whether nothing else on the page is about a request, so that names are enough to show it.
    """
    if not found.sections:
        yield from listed
        return
    others = [heading for heading in found.titles if heading.position not in found.sections]
    with_fields: set[Position] = set()
    for position, row in listed:
        title = found.find_title(position)
        if title not in found.sections or _is_on_its_own(row, found.paths[title]):
            yield position, row
        elif isinstance(row, TableRow) and (row.type or row.required):
            with_fields.add(title)
            yield position, replace(row, path=(*found.paths[title], *row.path))
    is_request = alone and name_request(path[0] for path in found.paths.values())
    for position, section in found.sections.items():
        part = detect_part((), enclosing_headings(others, position), "") or ("request" if is_request else None)
        path = found.paths[position]
        if part is None:
            yield position, UnreadPassage(position[0], NO_PART, ".".join(path))
        else:
            items = [item for item in section.items if not (position in with_fields and item.depth)]
            yield position, make_section_row(part, path, position[0], section.words, items)


def _is_on_its_own(row: TableRow | UnreadPassage, section: tuple[str, ...]) -> bool:
    """Return whether a row below the heading of a parameter is about another one, and not about a field of it."""
    if not isinstance(row, TableRow) or not (row.type or row.required):
        return False
    known = load_outline("request")
    return row.path[:1] in known and (*section, row.path[0]) not in known


def make_section_row(
    part: Part, path: tuple[str, ...], line: int, words: Sequence[str], items: Sequence[Item]
) -> TableRow:
    """Make the row of a section; its first paragraph may state the type and the like, or each has a line of its own.

    words: the type and so on, next to the name.
    """
    stated = list(words)
    prose: list[Item] = []
    for at, item in enumerate(_split_labelled(items)):
        labelled = LABELLED.fullmatch(normalize(item.text))
        parts = split_words(item.text)
        if labelled and labelled["type"]:
            stated += [labelled["words"]]
        elif labelled:
            answer = labelled["words"].lower().rstrip(". ")
            stated += [_ANSWERS.get(answer, answer)]
        elif (at == 0 or prose == []) and is_signature(parts):
            stated += parts
        else:
            prose.append(item)
    return make_row(part, path, line, stated, prose)


def _split_labelled(items: Sequence[Item]) -> Iterator[Item]:
    """Yield items, those that begin with a label sentence by sentence: "Type: string. Required. One word."."""
    for item in items:
        is_labelled = LABELLED.fullmatch(normalize(item.text)) is not None
        parts = _SENTENCE.split(item.text) if is_labelled else [item.text]
        yield from (replace(item, text=part.removesuffix(".") if len(parts) > 1 else part) for part in parts)
