"""Find the headings of a page of HTML or Markdown, and the list directly below each heading."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from bs4.element import Tag

from openapi.reading.pages.row import Item

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bs4 import BeautifulSoup
    from markdown_it.token import Token

EMPHASIZED: Final = 7  # the level of a paragraph that is bold or italic as a whole, which serves as a heading
PARAGRAPH: Final = 8  # the level of another paragraph
MAX_TITLE: Final = 300  # characters of a paragraph that may be the title of a table
_PATH: Final = re.compile(r"(?<![\w.])/[a-z][\w-]*(?:/[\w{}-]+)*", re.IGNORECASE)
_CAPITALS: Final = re.compile(r"(?!GET$|POST$|NOTES?:?$)[A-Z]{3,}(?:[ /&-]+[A-Z]{2,}){0,4}:?")
"""A line in capitals, as manual pages have them for a heading."""
_ELEMENT_TYPE: Final = re.compile(
    r"<(?!(?:a|b|br|code|del|em|i|kbd|s|small|span|strong|sub|sup|u)>)[A-Za-z]\w*(?:\[\])?>", re.IGNORECASE
)
"""The type of elements behind the type of a list, `List<string>`, which Markdown takes for a tag."""
_SENTENCES_ZH: Final = re.compile(r"。.")  # a description rather than a title
_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
CHAT: Final = "chat/completions"
Position = tuple[int, int]  # line and column


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 to 6, or a paragraph as level 7 or 8. `entries`: the entries of the list below a heading."""

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


def is_below(headings: Sequence[Heading], position: Position, words: Sequence[str]) -> bool:
    """Return whether a position is below a heading, not a paragraph, that contains one of some words."""
    titles = [heading for heading in headings if heading.level < PARAGRAPH]
    return any(word.lower() in title.lower() for title in enclosing_headings(titles, position) for word in words)


def innermost_path(headings: Sequence[Heading], position: Position) -> str:
    """Return the heading with the path of an operation that a position is below; empty without one."""
    titles = [heading for heading in headings if heading.level < PARAGRAPH]
    return next((words for words in enclosing_headings(titles, position) if _PATH.search(words)), "")


def position_of(tag: Tag) -> Position:
    """Return the position of a tag."""
    return tag.sourceline or 0, tag.sourcepos or 0


def text_of(inline: Token) -> str:
    """Return the text of an inline token without its markup."""
    breaks = ("softbreak", "hardbreak", "html_inline")
    return "".join(" " if child.type in breaks else child.content for child in inline.children or ()).strip()


def written_text(inline: Token, line_break: str = " ") -> str:
    """Return the text of an inline token without emphasis; code keeps its marks, which tell values from words.

    line_break: what stands for a `<br>`.
    """

    def write(child: Token, before: str) -> str:
        if child.type == "html_inline" and _BREAK.fullmatch(child.content):
            return line_break
        if child.type == "html_inline" and _ELEMENT_TYPE.fullmatch(child.content) and before[-1:].isalpha():
            return child.content
        if child.type in ("softbreak", "hardbreak", "html_inline"):
            return " "
        return f"`{child.content}`" if child.type == "code_inline" else child.content

    text = ""
    for child in inline.children or ():
        text += write(child, text)
    return text.strip(" ")


def nested_inlines(tokens: Iterable[Token]) -> Iterator[tuple[int, Token, Token]]:
    """Yield the text of each paragraph, heading and cell with its depth in lists, and the token that opens it."""
    depth = 0
    for opening, token in pairwise(tokens):
        if opening.type in ("bullet_list_open", "ordered_list_open"):
            depth += 1
        elif opening.type in ("bullet_list_close", "ordered_list_close"):
            depth -= 1
        if token.type == "inline" and token.map:
            yield depth, opening, token


def _of_markdown(tokens: Sequence[Token]) -> Iterator[Heading]:
    """Yield headings with the list below them, and paragraphs, which may be the title of the table below them."""
    for at, (opening, inline) in enumerate(pairwise(tokens)):
        if inline.type == "inline" and opening.map and opening.level == 0:
            words, position = text_of(inline), (opening.map[0] + 1, 0)
            if opening.type == "heading_open":
                yield Heading(position, int(opening.tag[1:]), words, tuple(_entries(tokens, at + 3)))
            elif opening.type == "paragraph_open" and _CAPITALS.fullmatch(inline.content.partition("\n")[0].strip()):
                yield Heading(position, EMPHASIZED, inline.content.partition("\n")[0].strip())
            elif opening.type == "paragraph_open" and _is_emphasized(inline):
                yield Heading(position, EMPHASIZED, words)
            elif opening.type == "paragraph_open" and len(words) < MAX_TITLE and not _SENTENCES_ZH.search(words):
                yield Heading(position, PARAGRAPH, words)


def _is_emphasized(inline: Token) -> bool:
    """Return whether all words of a paragraph are in one emphasis."""
    children = [child for child in inline.children or () if child.content.strip(" :") or child.type != "text"]
    if len(children) < 3 or children[0].type not in ("strong_open", "em_open"):
        return False
    closing = children[0].type.replace("open", "close")
    return children[-1].type == closing and sum(child.type == closing for child in children) == 1


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
