"""Blocks: a text page cut at its blank lines, each block with its line and the depth of its bullets."""

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
    """Lines without a blank one among them, as items: a paragraph, or the entries of a list."""

    items: tuple[Item, ...]

    @property
    def line(self) -> int:
        """Where it begins."""
        return self.items[0].line

    @property
    def text(self) -> str:
        """All of it on one line."""
        return " ".join(item.text for item in self.items)

    @property
    def is_list(self) -> bool:
        """Whether it begins with a bullet."""
        return self.items[0].depth > 0


def blocks(text: str) -> list[Block]:
    """The blocks of a page."""
    found: list[Block] = []
    waiting: list[tuple[int, str]] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            waiting.append((number, line))
        elif waiting:
            found.append(Block(tuple(_items(waiting))))
            waiting = []
    return found


def cell(parts: Iterable[Block], line: int) -> Cell:
    """Blocks as one cell."""
    return Cell(tuple(item for block in parts for item in block.items), line)


def _items(lines: Iterable[tuple[int, str]]) -> list[Item]:
    """Each bullet is an entry, deeper the further it is indented; other lines go on with what is above them."""
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
        indents = [each for each in indents if each < indent] + [indent]
        items.append(Item((match[2] if match[2] is not None else match[4]).strip(), len(indents), number))
    return items
