"""Find the blocks of code and the sentences of a page, each with the headings above it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from bs4.element import NavigableString, PreformattedString, Tag

from openapi.reading.pages.headings import (
    CHAT,
    PARAGRAPH,
    enclosing_headings,
    find_headings,
    innermost_path,
    is_below,
    nested_inlines,
    position_of,
    written_text,
)
from openapi.reading.pages.table_grid import parse_markup

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bs4 import BeautifulSoup
    from markdown_it.token import Token

    from openapi.reading.pages.headings import Heading, Position

_BLOCKS: Final = ("p", "li", "dd", "dt", "td", "th", "blockquote", "caption")
_CODE: Final = ("code", "kbd", "tt")
_CELLS: Final = ("td", "th")
_TITLES: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_INNER: Final = (*_BLOCKS, "ul", "ol", "dl", "table", "pre", "div", "section")


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph, an entry of a list, a cell, a heading, or a block of code.

    line, end: its first line, and the one behind its last.
    headings: those above it, innermost first.
    kind: `title` for a heading, `cell` for a cell of a table, `code` for a block, else `words`.
    """

    line: int
    end: int
    text: str
    headings: tuple[str, ...]
    kind: str = "words"


def find_passages(text: str, sections: Sequence[str] = ()) -> list[Passage]:
    """Return the passages of a page in its order, without those about other operations.

    sections: words of the headings below which passages are wanted; empty for those about chat completions.
    """
    tokens, soup = parse_markup(text)
    headings = [heading for heading in find_headings(tokens, soup) if heading.level < PARAGRAPH]
    is_html = text.lstrip().startswith("<")
    found = [*([] if is_html else _of_markdown(tokens)), *_of_html(soup)]
    has_chat = any(CHAT in heading.words.lower() for heading in headings)
    passages = []
    for position, end, words, kind in sorted(found, key=lambda item: item[0]):
        if _is_wanted(headings, position, sections, has_chat=has_chat):
            above = tuple(enclosing_headings(headings, position))
            passages.append(Passage(position[0], max(end, position[0] + 1), words, above, kind))
    return passages


def _is_wanted(headings: Sequence[Heading], position: Position, sections: Sequence[str], *, has_chat: bool) -> bool:
    if sections:
        return is_below(headings, position, sections)
    path = innermost_path(headings, position)
    return not has_chat or not path or CHAT in path.lower()


def _of_markdown(tokens: Sequence[Token]) -> Iterator[tuple[Position, int, str, str]]:
    kinds = {"heading_open": "title", "td_open": "cell", "th_open": "cell"}
    for token in tokens:
        if token.type == "fence" and token.map:
            yield (token.map[0] + 1, 0), token.map[1] + 1, token.content, "code"
    for at, (_, opening, inline) in enumerate(nested_inlines(tokens)):
        if inline.map:
            words = " ".join(written_text(inline).split())
            yield (inline.map[0] + 1, at), inline.map[1] + 1, words, kinds.get(opening.type, "words")


def _of_html(soup: BeautifulSoup) -> Iterator[tuple[Position, int, str, str]]:
    for tag in soup.find_all(["pre", *_BLOCKS, *_TITLES]):
        if not isinstance(tag, Tag) or tag.find_parent(["nav", "script", "style"]) is not None:
            continue
        if tag.name == "pre":
            content = tag.get_text()
            yield position_of(tag), position_of(tag)[0] + content.count("\n") + 1, content, "code"
            continue
        if tag.find_parent("pre") is not None:
            continue
        is_cell = tag.name in _CELLS or tag.find_parent(_CELLS) is not None
        kind = "title" if tag.name in _TITLES else "cell" if is_cell else "words"
        words = _own_text(tag)
        if words:
            yield position_of(tag), position_of(tag)[0] + 1, words, kind


def _own_text(tag: Tag) -> str:
    """Return the text of a block without that of the blocks inside it; code is marked as in Markdown."""
    parts: list[str] = []
    for node in tag.descendants:
        if not isinstance(node, NavigableString) or isinstance(node, PreformattedString):
            continue
        inside = list(takewhile(lambda parent: parent is not tag, node.parents))
        if not any(parent.name in _INNER for parent in inside):
            is_code = any(parent.name in _CODE for parent in inside)
            parts.append(f"`{node.strip()}`" if is_code and node.strip() else str(node))
    return " ".join("".join(parts).split())
