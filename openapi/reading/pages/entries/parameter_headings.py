"""Read headings that are names of parameters, each with its type and its description in the heading or below it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from bs4.element import Tag

from openapi.reading.grammar.clauses import read_text, split_sentences
from openapi.reading.pages.cell_items import cell_items
from openapi.reading.pages.columns import NO_PART, detect_part
from openapi.reading.pages.entries.signature import make_row, says_type, split_words
from openapi.reading.pages.headings import EMPHASIZED, enclosing_headings, nested_inlines, position_of, text_of
from openapi.reading.pages.names import parse_name
from openapi.reading.pages.nesting import load_outline
from openapi.reading.pages.row import Item, TableRow, UnreadPassage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bs4 import BeautifulSoup
    from bs4.element import PageElement
    from markdown_it.token import Token

    from openapi.reading.pages.headings import Heading, Position
    from openapi.reading.pages.row import Part

    Result = tuple[Position, TableRow | UnreadPassage]

MIN_HEADINGS: Final = 2
_TITLES: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS: Final = ("p", "div", "li")
_LISTS: Final = ("ul", "ol")
_ELSEWHERE: Final = ("table", "dl", "pre", "nav")  # tags that are read elsewhere, or not at all
_LABELLED: Final = re.compile(r"(?P<label>type|required|presence)\s*[:=]\s*(?P<words>\S.*)", re.IGNORECASE)
_SENTENCE: Final = re.compile(r"(?<=\.)\s+(?=[A-Z`])")
_DEFAULT: Final = re.compile(r"defaults?\b.*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParameterSection:
    """A heading that is the name of a parameter, and the paragraphs and list entries below it.

    path: the names in the heading. words: the type and so on, next to the name.
    """

    position: Position
    level: int
    path: tuple[str, ...]
    words: tuple[str, ...]
    items: tuple[Item, ...]


def read_parameter_headings(
    tokens: Sequence[Token], soup: BeautifulSoup, headings: Sequence[Heading], listed: Sequence[Result]
) -> Iterator[Result]:
    """Yield a row for each heading that is a parameter, and the rows of lists; those below such a heading are fields.

    listed: the rows of lists, with their positions. Entries without a type below such a heading are values of the
        parameter, which its own row has.
    """
    sections = {section.position: section for section in (*_of_markdown(tokens), *_of_html(soup))}
    if len(sections) < MIN_HEADINGS:
        yield from listed
        return
    titles = [heading for heading in headings if heading.level < EMPHASIZED]
    others = [heading for heading in titles if heading.position not in sections]
    paths = _place(sections, titles)
    with_fields: set[Position] = set()
    for position, row in listed:
        title = max((heading.position for heading in titles if heading.position < position), default=(0, 0))
        if title not in sections:
            yield position, row
        elif isinstance(row, TableRow) and (row.type or row.required):
            with_fields.add(title)
            yield position, replace(row, path=(*paths[title], *row.path))
    for position, section in sections.items():
        part = detect_part((), enclosing_headings(others, position), "")
        if part is None:
            yield position, UnreadPassage(position[0], NO_PART, ".".join(paths[position]))
        else:
            items = [item for item in section.items if not (position in with_fields and item.depth)]
            yield position, _row(part, paths[position], section, items)


def _place(sections: Mapping[Position, ParameterSection], titles: Sequence[Heading]) -> dict[Position, tuple[str, ...]]:
    """Return the path of each section: below a section with a heading of a higher level, it is a field."""
    paths: dict[Position, tuple[str, ...]] = {}
    above: list[tuple[int, tuple[str, ...]]] = []
    for title in titles:
        above = [(level, path) for level, path in above if level < title.level]
        if title.position in sections:
            own = sections[title.position].path
            paths[title.position] = (*above[-1][1], *own) if above and len(own) == 1 else own
            above.append((title.level, paths[title.position]))
    return paths


def _row(part: Part, path: tuple[str, ...], section: ParameterSection, items: Sequence[Item]) -> TableRow:
    """Make the row of a section; its first paragraph may state the type and the like, or each has a line of its own."""
    line = section.position[0]
    words = list(section.words)
    prose: list[Item] = []
    for at, item in enumerate(_split_labelled(items)):
        labelled = _LABELLED.fullmatch(item.text)
        parts = split_words(item.text)
        if labelled and labelled["label"].lower() == "type":
            words += [labelled["words"]]
        elif labelled:
            required = labelled["words"].lower()
            words += [
                {"yes": "required", "true": "required", "no": "optional", "false": "optional"}.get(required, required)
            ]
        elif (at == 0 or prose == []) and _is_signature(parts):
            words += parts
        else:
            prose.append(item)
    return make_row(part, path, line, words, prose)


def _split_labelled(items: Sequence[Item]) -> Iterator[Item]:
    """Yield items, those that begin with a label sentence by sentence: "Type: string. Required. One word."."""
    for item in items:
        parts = _SENTENCE.split(item.text) if _LABELLED.fullmatch(item.text) else [item.text]
        yield from (replace(item, text=part.removesuffix(".") if len(parts) > 1 else part) for part in parts)


def _is_signature(words: Sequence[str]) -> bool:
    """Return whether words state the type, the presence and the default, and nothing else."""
    return any(map(says_type, words)) and all(says_type(word) or _DEFAULT.fullmatch(word) for word in words)


def _section(
    position: Position, level: int, title: str, items: Sequence[Item], *, is_marked: bool
) -> Iterator[ParameterSection]:
    """Yield the section of a heading that is a name, if it is marked as one or its type is stated."""
    written = parse_name(title)
    if written is None:
        return
    words = split_words(written.rest)
    states_type = _is_signature([*words, *(split_words(items[0].text) if items else [])]) or any(
        _LABELLED.fullmatch(item.text) for item in items
    )
    is_name = is_marked or title[:1].islower()
    states_type = states_type or (bool(items) and not written.rest and _is_described(written.path[-1], items[0].text))
    if is_name and (is_marked or states_type) and all(says_type(word) or _DEFAULT.fullmatch(word) for word in words):
        yield ParameterSection(position, level, written.path, tuple(words), tuple(items))


def _is_described(name: str, text: str) -> bool:
    """Return whether a paragraph begins with the type of a value, or the interface has a parameter of this name."""
    first = next(split_sentences(text), "")
    states_type = any(item.attribute == "types" for item in read_text(first, name).statements)
    return states_type or (name,) in load_outline("request")


def _of_markdown(tokens: Sequence[Token]) -> Iterator[ParameterSection]:
    for at, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = tokens[at + 1]
            body = takewhile(lambda other: other.type != "heading_open", tokens[at + 3 :])
            is_marked = any(child.type == "code_inline" for child in (title.children or ())[:1])
            words = text_of(title)
            yield from _section((token.map[0] + 1, 0), int(token.tag[1:]), words, _items(body), is_marked=is_marked)


def _items(tokens: Iterable[Token]) -> list[Item]:
    """Return the paragraphs and list entries among some tokens, without tables."""
    return [
        Item(_as_written(token), depth, token.map[0] + 1)
        for depth, opening, token in nested_inlines(tokens)
        if token.map and opening.type == "paragraph_open"
    ]


def _as_written(inline: Token) -> str:
    """Return the text of a paragraph without emphasis; code keeps its marks, as in other cells."""
    marks = {"code_inline": "`"}
    parts = [
        " " if child.type in ("softbreak", "hardbreak") else f"{mark}{child.content}{mark}"
        for child in inline.children or ()
        for mark in [marks.get(child.type, "")]
        if child.type != "html_inline"
    ]
    return "".join(parts).strip()


def _of_html(soup: BeautifulSoup) -> Iterator[ParameterSection]:
    for title in soup.find_all(list(_TITLES)):
        words = title.get_text(" ", strip=True)
        first = next((child for child in title.descendants if isinstance(child, Tag)), None)
        is_marked = (
            first is not None and first.name in ("code", "kbd", "tt") and words.startswith(first.get_text(strip=True))
        )
        yield from _section(position_of(title), int(title.name[1:]), words, list(_below(title)), is_marked=is_marked)


def _below(title: Tag) -> Iterator[Item]:
    """Yield the paragraphs and list entries between a heading of HTML and the next one."""
    body = takewhile(lambda tag: not (isinstance(tag, Tag) and tag.name in _TITLES), _after(title))
    for tag in body:
        if not isinstance(tag, Tag) or tag.name not in _BLOCKS or tag.find_parent(_ELSEWHERE) is not None:
            continue
        if tag.find([*_BLOCKS, *_TITLES, *_ELSEWHERE, *_LISTS]) is None:
            depth = sum(parent.name in _LISTS for parent in tag.parents)
            yield from (replace(item, depth=depth) for item in cell_items(tag))


def _after(title: Tag) -> Iterator[PageElement]:
    inside = {id(child) for child in title.descendants}
    return (element for element in title.next_elements if id(element) not in inside)
