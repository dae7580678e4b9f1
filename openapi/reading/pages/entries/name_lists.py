"""Read lists, also of HTML, and paragraphs that describe one parameter each: "- `temperature` (number): ..."."""

from __future__ import annotations

import re
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Final

from bs4 import BeautifulSoup
from bs4.element import NavigableString, PreformattedString, Tag

from openapi.reading.grammar.type_cells import parse_type_cell
from openapi.reading.pages.columns import NO_PART, detect_part
from openapi.reading.pages.entries.described_name import DescribedName, known_names, parse_entry
from openapi.reading.pages.entries.plain_lines import split_code, split_lines
from openapi.reading.pages.entries.signature import make_row
from openapi.reading.pages.headings import PARAGRAPH, enclosing_headings, nested_inlines, position_of
from openapi.reading.pages.names import parse_name
from openapi.reading.pages.nesting import name_request
from openapi.reading.pages.row import Item, UnreadPassage
from openapi.reading.pages.unsupported_lists import announces_unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

    from openapi.reading.pages.headings import Heading, Position
    from openapi.reading.pages.row import Part, TableRow

    Entry = tuple[int, Position, DescribedName]  # the nesting of a list entry, its position, and its words

_LISTS: Final = ("ul", "ol")
_NAMES: Final = ("code", "strong", "b", "kbd", "tt")  # tags that mark the name of a parameter
_EMPHASIS: Final = ("em", "i")  # tags that mark its type
_OTHERS: Final = ("table", "dl", "pre", "nav")  # tags whose lists are read elsewhere, or not at all
_BLOCKS: Final = ("p", "pre", "div", "table", "dl", "ul", "ol", "nav", "h1", "h2", "h3", "h4", "h5", "h6")
PLAIN: Final = frozenset({"", "text", "txt", "plain", "plaintext", "man"})
"""Languages of blocks of code that are plain text."""
LEVEL: Final = 1000
"""How much deeper a level of a list is than any indentation."""
MIN_ENTRIES: Final = 2
_FIELD_OPENS: Final = re.compile(r"<(?:Param|Response)Field\b(?![^>]*/>)", re.IGNORECASE)
_FIELD_CLOSES: Final = re.compile(r"</(?:Param|Response)Field>", re.IGNORECASE)


def read_name_lists(
    tokens: Sequence[Token],
    soup: BeautifulSoup,
    headings: Sequence[Heading],
    lines: Sequence[str],
    *,
    alone: bool = False,
) -> Iterator[tuple[Position, TableRow | UnreadPassage]]:
    """Yield a row for each entry of a list of parameters, with its position.

    lines: those of the page. alone: whether nothing else is about a request, so that names are enough to show it.

    Such a list has at least two entries that begin with a marked name or with a name and its type, below a heading or
    paragraph that names a part of the interface.
    """
    entries = sorted((*_entries(tokens, lines), *_entries_of_html(soup)), key=lambda entry: entry[1])
    for titles, group in groupby(entries, key=lambda entry: tuple(enclosing_headings(_above(headings), entry[1]))):
        described = list(group)
        if len(described) < MIN_ENTRIES or any(map(announces_unsupported, titles[:1])):
            continue
        position = described[0][1]
        part = detect_part((), enclosing_headings(_before(headings, described), position), "")
        names = [entry.name for _, _, entry in described]
        if part is None and ("messages" in names or (alone and name_request(names))):
            part = "request"  # only a request has these
        if part == "request" and not any(_is_parameter(entry) for _, _, entry in described):
            part = None  # values and the like
        if part is not None:
            yield from _rows(part, described)
        elif any(entry.is_typed for _, _, entry in described):
            yield position, UnreadPassage(position[0], NO_PART, " ".join(names))


def _is_parameter(entry: DescribedName) -> bool:
    """Return whether an entry states a type, or has the name of a parameter or of a field of one."""
    return entry.is_typed or entry.name.replace("[]", "").rpartition(".")[2] in known_names()


def _above(headings: Sequence[Heading]) -> list[Heading]:
    return [heading for heading in headings if heading.level < PARAGRAPH]


def _before(headings: Sequence[Heading], entries: Sequence[Entry]) -> list[Heading]:
    """Return the headings without the entries themselves, which are short paragraphs, too."""
    positions = {position for _, position, _ in entries}
    return [heading for heading in headings if heading.position not in positions]


def _entries(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[Entry]:
    """Yield the entries of lists, paragraphs and blocks of plain text."""
    elsewhere = _lines_in_fields(lines)
    for depth, opening, token in nested_inlines(tokens):
        if not token.map or opening.type != "paragraph_open" or token.map[0] in elsewhere:
            continue
        source = lines[token.map[0] : token.map[1]]
        written = source if depth == 0 and len(source) > 1 else token.content.split("\n")
        for entry in split_lines(written, is_listed=depth > 0)[1]:
            yield depth * LEVEL + entry.indent, (token.map[0] + 1 + entry.offset, 0), entry.described
    for token in tokens:
        if token.type == "fence" and token.map and token.info.strip().lower() in PLAIN:
            for entry in split_code(token.content):
                yield entry.indent, (token.map[0] + 2 + entry.offset, 0), entry.described


def _lines_in_fields(lines: Sequence[str]) -> set[int]:
    """Return the lines inside fields of documentation sites, which are read with their fields."""
    inside: set[int] = set()
    depth = 0
    for at, line in enumerate(lines):
        depth += len(_FIELD_OPENS.findall(line)) - len(_FIELD_CLOSES.findall(line))
        if depth > 0:
            inside.add(at)
    return inside


def _entries_of_html(soup: BeautifulSoup) -> Iterator[Entry]:
    for tag in soup.find_all("li"):
        if isinstance(tag, Tag) and tag.find_parent(_OTHERS) is None and (entry := parse_entry(_own_words(tag))):
            yield len(tag.find_parents(_LISTS)) * LEVEL, position_of(tag), entry
    for tag in soup.find_all(["p", "pre", "div"]):
        if not isinstance(tag, Tag) or tag.find(_BLOCKS) is not None or tag.find_parent((*_OTHERS, "li")) is not None:
            continue
        line, column = position_of(tag)
        if tag.name == "pre":
            for one in split_code(tag.get_text()):
                yield one.indent, (line + one.offset, column), one.described
        else:
            for one in split_lines(_broken_lines(tag))[1]:
                yield 0, (line, column + one.offset), one.described


def _broken_lines(tag: Tag) -> list[str]:
    """Return the lines of a paragraph between its breaks, as Markdown writes them."""
    copy = BeautifulSoup(str(tag), "html.parser")
    for line in copy.find_all("br"):
        line.replace_with("\v")
    return [" ".join(words.split()) for words in _own_words(copy).split("\v")]


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
    return "\v".join(" ".join(line.split()) for line in words.split("\v"))


def _rows(part: Part, entries: Sequence[Entry]) -> Iterator[tuple[Position, TableRow]]:
    """Yield the row of each entry; those nested below a parameter that has no fields are its values."""
    above: list[tuple[int, tuple[str, ...], DescribedName]] = []
    values: dict[tuple[str, ...], list[Item]] = {}
    rows: list[tuple[Position, tuple[str, ...], DescribedName]] = []
    for depth, position, entry in entries:
        written = parse_name(entry.name)
        if written is None:
            continue
        while above and above[-1][0] >= depth:
            above.pop()
        if above and not _is_parameter(entry) and _has_no_fields(above[-1][2]):
            values.setdefault(above[-1][1], []).append(Item(f"`{entry.name}`: {entry.text}", 1, position[0]))
            continue
        path = (*above[-1][1], written.path[-1]) if above else written.path
        above.append((depth, path, entry))
        rows.append((position, path, entry))
    for position, path, entry in rows:
        prose = [Item(entry.text, 0, position[0])] if entry.text else []
        yield position, make_row(part, path, position[0], entry.signature, [*prose, *values.get(path, ())])


def _has_no_fields(entry: DescribedName) -> bool:
    """Return whether an entry states types, and neither objects nor lists are among them."""
    kinds = {kind.name for word in entry.signature for kind in parse_type_cell(word) or ()}
    return bool(kinds) and kinds.isdisjoint(("object", "array"))
