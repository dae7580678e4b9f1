"""Read the paragraphs and list entries of a cell in HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bs4.element import NavigableString, PreformattedString, Tag

from openapi.reading.pages.row import Item

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_BLOCKS = frozenset({"p", "div", "li", "ul", "ol", "br", "dl", "dt", "dd", "table", "tr", "td", "pre"})
_MARKS = {"code": "`", "del": "~~", "s": "~~", "strike": "~~", "sup": "^", "sub": "_"}  # 2<sup>31</sup> is not 231


def cell_items(tag: Tag, without: Collection[Tag] = ()) -> Iterator[Item]:
    """Yield the paragraphs and list entries of a cell, without those in some tags in it."""
    words: list[str] = []
    line, depth = tag.sourceline or 0, 0

    def flush() -> Iterator[Item]:
        text = " ".join("".join(words).split())
        words.clear()
        if text:
            yield Item(text, depth, line)

    def walk(node: Tag, level: int) -> Iterator[Item]:
        nonlocal line, depth
        for child in node.children:
            if isinstance(child, PreformattedString) or any(child is other for other in without):
                continue  # comments and the like
            if isinstance(child, NavigableString):
                if not words:
                    depth, line = level, line
                words.append(str(child))
            elif isinstance(child, Tag) and child.name in _BLOCKS:
                yield from flush()
                line, depth = child.sourceline or line, level
                yield from walk(child, level + 1 if child.name in ("ul", "ol") else level)
                yield from flush()
            elif isinstance(child, Tag):
                mark = _MARKS.get(child.name, "")
                words.append(mark)
                yield from walk(child, level)
                words.append(mark)

    yield from walk(tag, 0)
    yield from flush()
