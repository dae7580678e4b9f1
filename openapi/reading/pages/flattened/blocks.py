"""Split a text page at its blank lines into blocks of paragraphs and list entries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from openapi.reading.pages.row import Cell, Item

if TYPE_CHECKING:
    from collections.abc import Iterable

_BULLET: Final = re.compile(r"(\s*)[•·●◦▪*]\s+(.*)|(\s+)[-–]\s+(.*)")


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines without a blank line, as items: a paragraph, or the entries of a list."""

    items: tuple[Item, ...]

    @property
    def line(self) -> int:
        """The number of its first line."""
        return self.items[0].line

    @property
    def text(self) -> str:
        """The text of all items, joined by spaces."""
        return " ".join(item.text for item in self.items)

    @property
    def is_list(self) -> bool:
        """Whether it begins with a bullet."""
        return self.items[0].depth > 0


def split_blocks(text: str) -> list[Block]:
    """Split a page into blocks."""
    blocks: list[Block] = []
    lines: list[tuple[int, str]] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            lines.append((number, line))
        elif lines:
            blocks.append(Block(tuple(_items(lines))))
            lines = []
    return blocks


def join_blocks(blocks: Iterable[Block], line: int) -> Cell:
    """Join blocks to one cell."""
    return Cell(tuple(item for block in blocks for item in block.items), line)


def _items(lines: Iterable[tuple[int, str]]) -> list[Item]:
    """Split lines into items: each bullet starts an entry, nested by its indentation; other lines continue an item."""
    items: list[Item] = []
    indents: list[int] = []
    for number, line in lines:
        match = _BULLET.fullmatch(line)
        if match is None:
            if items:
                items[-1] = Item(f"{items[-1].text} {line.strip()}", items[-1].depth, items[-1].line)
            else:
                items.append(Item(line.strip(), 0, number))
            continue
        indent = len((match[1] if match[2] is not None else match[3]).expandtabs())
        indents = [outer for outer in indents if outer < indent] + [indent]
        items.append(Item((match[2] if match[2] is not None else match[4]).strip(), len(indents), number))
    return items
