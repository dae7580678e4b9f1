"""Find the headings of a page that are names of parameters, and the paragraphs and list entries below each."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from bs4.element import Tag

from openapi.reading.grammar.clauses import read_text, split_sentences
from openapi.reading.grammar.vocabulary import normalize
from openapi.reading.pages.cell_items import cell_items
from openapi.reading.pages.entries.signature import LABELLED, is_signature, split_words, states_presence
from openapi.reading.pages.headings import EMPHASIZED, nested_inlines, position_of, text_of
from openapi.reading.pages.names import parse_name
from openapi.reading.pages.nesting import load_outline
from openapi.reading.pages.row import Item

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bs4 import BeautifulSoup
    from bs4.element import PageElement
    from markdown_it.token import Token

    from openapi.reading.pages.headings import Heading, Position

MIN_HEADINGS: Final = 2
_TITLES: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS: Final = ("p", "div", "li")
_LISTS: Final = ("ul", "ol")
_ELSEWHERE: Final = ("table", "dl", "pre", "nav")  # tags that are read elsewhere, or not at all
_SYMBOLS: Final = re.compile(r"^[^\w`(\[<]+\s")
"""Signs in front of the words of a heading, such as pictures."""


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


class ParameterSections:
    """The sections of a page, by position, with the path of each: below another section, it is a field.

    titles: the headings of the page, without paragraphs.
    """

    def __init__(self, tokens: Sequence[Token], soup: BeautifulSoup, headings: Sequence[Heading]) -> None:
        found = {section.position: section for section in (*_of_markdown(tokens), *_of_html(soup))}
        self.sections = found if len(found) >= MIN_HEADINGS else {}
        self.titles = [heading for heading in headings if heading.level < EMPHASIZED]
        self.paths: dict[Position, tuple[str, ...]] = {}
        above: list[tuple[int, tuple[str, ...]]] = []
        for title in self.titles:
            above = [(level, path) for level, path in above if level < title.level]
            if title.position in self.sections:
                own = self.sections[title.position].path
                self.paths[title.position] = (*above[-1][1], *own) if above and len(own) == 1 else own
                above.append((title.level, self.paths[title.position]))

    def find_title(self, position: Position) -> Position:
        """Return the position of the last heading in front of a position."""
        return max((title.position for title in self.titles if title.position < position), default=(0, 0))

    def find_parent(self, position: Position) -> tuple[str, ...] | None:
        """Return the path of the parameter whose heading a position is directly below; None for another heading."""
        return self.paths.get(self.find_title(position))


def _section(
    position: Position, level: int, title: str, items: Sequence[Item], *, is_marked: bool
) -> Iterator[ParameterSection]:
    """Yield the section of a heading that is a name, if it is marked as one or its type is stated."""
    title = _SYMBOLS.sub("", title)
    written = parse_name(title)
    if written is None:
        return
    words = split_words(written.rest)
    states_type = (
        is_signature(words)
        or is_signature([*words, *(split_words(items[0].text) if items else [])])
        or any(LABELLED.fullmatch(normalize(item.text)) for item in items)
    )
    is_name = is_marked or title[:1].islower()
    states_type = states_type or (bool(items) and not written.rest and _is_described(written.path[-1], items[0].text))
    if is_name and (is_marked or states_type) and all(map(states_presence, words)):
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
