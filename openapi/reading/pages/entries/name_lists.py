"""Read lists, also of HTML, and paragraphs that describe one parameter each: "- `temperature` (number): ..."."""

from __future__ import annotations

from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Final

from bs4.element import NavigableString, PreformattedString, Tag

from openapi.reading.pages.columns import NO_PART, detect_part
from openapi.reading.pages.entries.described_name import DescribedName, parse_entry
from openapi.reading.pages.entries.signature import make_row
from openapi.reading.pages.headings import PARAGRAPH, enclosing_headings, nested_inlines, position_of
from openapi.reading.pages.names import parse_name
from openapi.reading.pages.row import Item, UnreadPassage
from openapi.reading.pages.unsupported_lists import announces_unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bs4 import BeautifulSoup
    from markdown_it.token import Token

    from openapi.reading.pages.headings import Heading, Position
    from openapi.reading.pages.row import Part, TableRow

    Entry = tuple[int, Position, DescribedName]  # the nesting of a list entry, its position, and its words

_LISTS: Final = ("ul", "ol")
_NAMES: Final = ("code", "strong", "b", "kbd", "tt")  # tags that mark the name of a parameter
_EMPHASIS: Final = ("em", "i")  # tags that mark its type
_OTHERS: Final = ("table", "dl", "pre", "nav")  # tags whose lists are read elsewhere, or not at all
MIN_ENTRIES: Final = 2


def read_name_lists(
    tokens: Sequence[Token], soup: BeautifulSoup, headings: Sequence[Heading]
) -> Iterator[tuple[Position, TableRow | UnreadPassage]]:
    """Yield a row for each entry of a list of parameters, with its position.

    Such a list has at least two entries that begin with a marked name or with a name and its type, below a heading or
    paragraph that names a part of the interface.
    """
    entries = sorted((*_entries(tokens), *_entries_of_html(soup)), key=lambda entry: entry[1])
    for titles, group in groupby(entries, key=lambda entry: tuple(enclosing_headings(_above(headings), entry[1]))):
        described = list(group)
        if len(described) < MIN_ENTRIES or any(map(announces_unsupported, titles[:1])):
            continue
        position = described[0][1]
        part = detect_part((), enclosing_headings(_before(headings, described), position), "")
        if part is not None:
            yield from _rows(part, described)
        elif any(entry.is_typed for _, _, entry in described):
            yield position, UnreadPassage(position[0], NO_PART, " ".join(entry.name for _, _, entry in described))


def _above(headings: Sequence[Heading]) -> list[Heading]:
    return [heading for heading in headings if heading.level < PARAGRAPH]


def _before(headings: Sequence[Heading], entries: Sequence[Entry]) -> list[Heading]:
    """Return the headings without the entries themselves, which are short paragraphs, too."""
    positions = {position for _, position, _ in entries}
    return [heading for heading in headings if heading.position not in positions]


def _entries(tokens: Sequence[Token]) -> Iterator[Entry]:
    for depth, opening, token in nested_inlines(tokens):
        if token.map and opening.type == "paragraph_open" and (entry := parse_entry(token.content)):
            yield depth, (token.map[0] + 1, 0), entry


def _entries_of_html(soup: BeautifulSoup) -> Iterator[Entry]:
    for tag in soup.find_all("li"):
        if isinstance(tag, Tag) and tag.find_parent(_OTHERS) is None and (entry := parse_entry(_own_words(tag))):
            yield len(tag.find_parents(_LISTS)), position_of(tag), entry


def _own_words(entry: Tag) -> str:
    """Return the words of a list entry as Markdown writes them, without the lists in it."""
    words = ""
    for part in entry.descendants:
        if not isinstance(part, NavigableString) or isinstance(part, PreformattedString):
            continue
        inside = [parent.name for parent in takewhile(lambda parent: parent is not entry, part.parents)]
        if any(name in (*_LISTS, *_OTHERS) for name in inside):
            continue
        is_first, is_bare = not words.strip(), words.endswith(("` ", "_ "))
        text = str(part).strip()
        if text and is_first and any(name in _NAMES for name in inside):
            words = f"`{text.removesuffix(':')}` "
        elif text and is_bare and any(name in _EMPHASIS for name in inside):
            words += f"_{text}_ "
        elif text or not is_bare:
            words += str(part).lstrip() if is_bare else str(part)
    return " ".join(words.split())


def _rows(part: Part, entries: Sequence[Entry]) -> Iterator[tuple[Position, TableRow]]:
    path: tuple[str, ...] = ()
    depths: list[int] = []
    for depth, position, entry in entries:
        line = position[0]
        written = parse_name(entry.name)
        if written is None:
            continue
        while depths and depths[-1] >= depth:
            depths.pop()
            path = path[:-1]
        own = written.path if len(written.path) == 1 else written.path[-1:]
        path = (*path, *own) if depths or len(written.path) == 1 else written.path
        depths.append(depth)
        prose = [Item(entry.text, 0, line)] if entry.text else []
        yield position, make_row(part, path, line, entry.signature, prose)
