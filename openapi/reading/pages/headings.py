"""Headings of a page of HTML or Markdown: what stands over a table, and the lists right below a heading."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from bs4.element import Tag

from openapi.reading.pages.row import Item

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bs4 import BeautifulSoup
    from markdown_it.token import Token

PARAGRAPH: Final = 7  # the level of a paragraph
LONGEST: Final = 300  # characters of a paragraph that may be a table's title
Place = tuple[int, int]  # line and column


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 to 6, or a paragraph as one below them all; `entries` are those of the list under it."""

    place: Place
    level: int
    words: str
    entries: tuple[Item, ...] = ()


def headings(tokens: Sequence[Token], soup: BeautifulSoup) -> list[Heading]:
    """All of a page, of either kind, in its order."""
    return sorted((*_of_markdown(tokens), *_of_html(soup)), key=lambda each: each.place)


def over(every: Sequence[Heading], place: Place) -> list[str]:
    """The headings that a place stands under, innermost first."""
    words: list[str] = []
    level = PARAGRAPH + 1
    for heading in reversed(every):
        if heading.place < place and heading.level < level:
            words.append(heading.words)
            level = heading.level
    return words


def place_of(tag: Tag) -> Place:
    """Where a tag begins."""
    return tag.sourceline or 0, tag.sourcepos or 0


def words_of(inline: Token) -> str:
    """The text of an inline token, without its marks."""
    breaks = ("softbreak", "hardbreak", "html_inline")
    return "".join(" " if child.type in breaks else child.content for child in inline.children or ()).strip()


def _of_markdown(tokens: Sequence[Token]) -> Iterator[Heading]:
    """Headings with the list below them; paragraphs, too, for one may say what the table below it is about."""
    for at, (opening, inline) in enumerate(pairwise(tokens)):
        if inline.type == "inline" and opening.map and opening.level == 0:
            words, place = words_of(inline), (opening.map[0] + 1, 0)
            if opening.type == "heading_open":
                yield Heading(place, int(opening.tag[1:]), words, tuple(_entries(tokens, at + 3)))
            elif opening.type == "paragraph_open" and len(words) < LONGEST:
                yield Heading(place, PARAGRAPH, words)


def _entries(tokens: Sequence[Token], start: int) -> Iterator[Item]:
    """The entries of the list that begins at a token; none where another thing begins there."""
    if start >= len(tokens) or tokens[start].type != "bullet_list_open":
        return
    for token in tokens[start:]:
        if token.type == "bullet_list_close" and token.level == tokens[start].level:
            return
        if token.type == "inline" and token.map:
            yield Item(words_of(token), 1, token.map[0] + 1)


def _of_html(soup: BeautifulSoup) -> Iterator[Heading]:
    for tag in soup.find_all(["h1", "h2", "h3", "h4", "h5", "h6"]):
        below = tag.find_next_sibling()
        entries = below.find_all("li") if isinstance(below, Tag) and below.name == "ul" else []
        items = tuple(Item(entry.get_text(" ", strip=True), 1, place_of(entry)[0]) for entry in entries)
        yield Heading(place_of(tag), int(tag.name[1:]), tag.get_text(" ", strip=True), items)
