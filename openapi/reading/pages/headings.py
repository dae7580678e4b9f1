"""Find the headings of a page of HTML or Markdown, and the list directly below each heading."""

from __future__ import annotations

import re
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
MAX_TITLE: Final = 300  # characters of a paragraph that may be the title of a table
_PATH: Final = re.compile(r"(?<![\w.])/[a-z][\w-]*(?:/[\w{}-]+)*", re.IGNORECASE)
_CHAT: Final = re.compile(r"chat/completions\b", re.IGNORECASE)
Position = tuple[int, int]  # line and column


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 to 6, or a paragraph as level 7. `entries`: the entries of the list below a heading."""

    position: Position
    level: int
    words: str
    entries: tuple[Item, ...] = ()


def find_headings(tokens: Sequence[Token], soup: BeautifulSoup) -> list[Heading]:
    """Find all headings and paragraphs of a page, in its order."""
    return sorted((*_of_markdown(tokens), *_of_html(soup)), key=lambda heading: heading.position)


def enclosing_headings(headings: Sequence[Heading], position: Position) -> list[str]:
    """Return the headings that a position is below, innermost first."""
    words: list[str] = []
    level = PARAGRAPH + 1
    for heading in reversed(headings):
        if heading.position < position and heading.level < level:
            words.append(heading.words)
            level = heading.level
    return words


def is_about_other_operation(headings: Sequence[Heading], position: Position) -> bool:
    """Return whether a position is below a heading with another path than that of chat completions.

    On a page without a heading for chat completions, no position is.
    """
    titles = [heading for heading in headings if heading.level < PARAGRAPH]
    if not any(_CHAT.search(heading.words) for heading in titles):
        return False
    above = next((words for words in enclosing_headings(titles, position) if _PATH.search(words)), "")
    return bool(above) and not _CHAT.search(above)


def position_of(tag: Tag) -> Position:
    """Return the position of a tag."""
    return tag.sourceline or 0, tag.sourcepos or 0


def text_of(inline: Token) -> str:
    """Return the text of an inline token without its markup."""
    breaks = ("softbreak", "hardbreak", "html_inline")
    return "".join(" " if child.type in breaks else child.content for child in inline.children or ()).strip()


def _of_markdown(tokens: Sequence[Token]) -> Iterator[Heading]:
    """Yield headings with the list below them, and paragraphs, which may be the title of the table below them."""
    for at, (opening, inline) in enumerate(pairwise(tokens)):
        if inline.type == "inline" and opening.map and opening.level == 0:
            words, position = text_of(inline), (opening.map[0] + 1, 0)
            if opening.type == "heading_open":
                yield Heading(position, int(opening.tag[1:]), words, tuple(_entries(tokens, at + 3)))
            elif opening.type == "paragraph_open" and len(words) < MAX_TITLE:
                yield Heading(position, PARAGRAPH, words)


def _entries(tokens: Sequence[Token], start: int) -> Iterator[Item]:
    """Yield the entries of the list that begins at a token; nothing if another element begins there."""
    if start >= len(tokens) or tokens[start].type != "bullet_list_open":
        return
    for token in tokens[start:]:
        if token.type == "bullet_list_close" and token.level == tokens[start].level:
            return
        if token.type == "inline" and token.map:
            yield Item(text_of(token), 1, token.map[0] + 1)


def _of_html(soup: BeautifulSoup) -> Iterator[Heading]:
    for tag in soup.find_all(["h1", "h2", "h3", "h4", "h5", "h6"]):
        below = tag.find_next_sibling()
        entries = below.find_all("li") if isinstance(below, Tag) and below.name == "ul" else []
        items = tuple(Item(entry.get_text(" ", strip=True), 1, position_of(entry)[0]) for entry in entries)
        yield Heading(position_of(tag), int(tag.name[1:]), tag.get_text(" ", strip=True), items)
