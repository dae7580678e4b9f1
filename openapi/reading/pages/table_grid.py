"""Read tables of HTML and of Markdown as grids of cells."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bs4 import BeautifulSoup
from markdown_it import MarkdownIt

from openapi.reading.pages.cell_items import cell_items
from openapi.reading.pages.headings import Position, position_of, written_text
from openapi.reading.pages.row import Cell, Item

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bs4.element import Tag
    from markdown_it.token import Token

INNER: Final = "└"
"""The mark of a level in front of a name that is indented."""
SPACES: Final = "\u00a0\u2002\u2003\u2004\u2005\u2009\u3000"
"""Spaces that show at the start of a cell."""
_PADDING: Final = re.compile(r"(?:(?:padding|margin)-left|text-indent):\s*(\d+)")
BREAK: Final = "\v"
"""Stands for a line break between the paragraphs of a cell of Markdown."""
MAX_SPAN: Final = 1000  # columns that a cell may span, as in HTML


@dataclass(frozen=True, slots=True)
class TableGrid:
    """A table as a grid of cells; a cell that spans several places is in each of them."""

    caption: str
    position: Position
    grid: tuple[tuple[Cell | None, ...], ...]

    @property
    def headers(self) -> list[str]:
        """The texts of the first row."""
        return [cell.text if cell else "" for cell in self.grid[0]] if self.grid else []


def split_header(table: TableGrid) -> tuple[list[str], list[tuple[Cell | None, ...]]]:
    """Return the headers of the columns and the other rows. A header that spans rows has a second row of headers."""
    header, *body = table.grid or ((),)
    headers = [cell.text if cell else "" for cell in header]
    while body and len(body[0]) == len(header) and _share_cell(header, body[0]):
        lower, *body = body
        pairs = zip(headers, header, lower, strict=True)
        headers = [text if low is high or low is None else f"{text} {low.text}" for text, high, low in pairs]
        header = lower
    return headers, body


def _share_cell(row: Sequence[Cell | None], below: Sequence[Cell | None]) -> bool:
    return any(cell is not None and cell is other for cell, other in zip(row, below, strict=True))


def is_title(cells: Sequence[Cell | None]) -> bool:
    """Return whether one cell spans a row: the title of the rows below it."""
    return len(cells) > 1 and cells[0] is not None and all(cell is cells[0] for cell in cells)


WIDTH: Final = "width"
"""The number of cells that a row of Markdown has, of which those behind its last header are not read."""
_RULE: Final = re.compile(r"\s*\|(?:\s*:?-{3,}:?\s*\|)+\s*")
_BAR: Final = re.compile(r"(?<!\\)\|")
_READ_TAG: Final = re.compile("<(?:table|li|dl)[ >]", re.IGNORECASE)


def parse_markup(text: str) -> tuple[list[Token], BeautifulSoup]:
    """Return the Markdown tokens of a page, and its HTML without the tables and lists in examples of code."""
    lines = text.split("\n")
    tokens = MarkdownIt("commonmark").enable("table").disable("code").parse("\n".join(_even_rules(lines)))
    for token in tokens:
        if token.type == "tr_open" and token.map:
            token.meta[WIDTH] = _count_cells(lines[token.map[0]])
    for token in tokens:
        if token.type == "fence" and token.map and _READ_TAG.search(token.content):
            lines[slice(*token.map)] = [""] * (token.map[1] - token.map[0])
    return tokens, BeautifulSoup("\n".join(lines), "html.parser")


def _even_rules(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines, with as many dashes below the header of a table as it has cells, as Markdown demands."""
    above = ""
    for line in lines:
        is_uneven = _RULE.fullmatch(line) and above.count("|") > 1 and _count_cells(line) != _count_cells(above)
        yield "|---" * _count_cells(above) + "|" if is_uneven else line
        above = line


def _count_cells(line: str) -> int:
    """Return the number of cells in a line of a table; in Markdown, a bar in code separates cells, too."""
    return len(_BAR.findall(line.strip().removeprefix("|").removesuffix("|"))) + 1


def find_tables(tokens: Sequence[Token], soup: BeautifulSoup) -> list[TableGrid]:
    """Return the tables of a page; a table inside a cell belongs to that cell."""
    tables = [_of_html(table) for table in soup.find_all("table") if table.find_parent("table") is None]
    return [*tables, *_of_markdown(tokens)]


def _of_html(table: Tag) -> TableGrid:
    caption = table.find("caption")
    line = position_of(table)[0]
    grid: list[list[Cell | None]] = []
    filled: dict[tuple[int, int], Cell] = {}
    tags = [row for row in table.find_all("tr") if row.find_parent("table") is table]
    depths = _list_depths([row.find(["td", "th"], recursive=False) for row in tags])
    for down, row in enumerate(tags):
        across = 0
        for tag in row.find_all(["td", "th"], recursive=False):
            while (down, across) in filled:
                across += 1
            inner = [item for item in tag.find_all("table") if item.find_parent("table") is table and _has_fields(item)]
            items = tuple(cell_items(tag, inner))
            if across == 0 and depths[down] and items:
                items = (replace(items[0], text=f"{INNER * depths[down]} {items[0].text}"), *items[1:])
            cell = Cell(items, tag.sourceline or line, tables=tuple(map(_of_html, inner)))
            wide, high = _span(tag, "colspan"), min(_span(tag, "rowspan"), len(tags) - down)
            filled.update({(down + y, across + x): cell for y in range(high) for x in range(wide)})
            across += wide
        width = max((x for y, x in filled if y == down), default=-1) + 1
        grid.append([filled.get((down, x)) for x in range(width)])
    return TableGrid(caption.get_text(" ", strip=True) if caption else "", position_of(table), tuple(map(tuple, grid)))


def _with_marks(inline: Token, *, is_first: bool) -> str:
    """Return the text of a cell of Markdown; a first one that is indented gets the mark of a level."""
    text = written_text(inline, BREAK).strip(BREAK)
    raw = "".join(child.content for child in inline.children or ())
    return f"{INNER} {text}" if is_first and text and raw[:1] in SPACES else text


def _has_fields(table: Tag) -> bool:
    """Return whether a table inside a cell has several rows and columns, rather than a layout of its own."""
    rows = [row for row in table.find_all("tr") if row.find_parent("table") is table]
    return len(rows) > 1 and all(len(row.find_all(["td", "th"], recursive=False)) > 1 for row in rows)


def _list_depths(cells: Sequence[Tag | None]) -> list[int]:
    """Return how deep each first cell of a table is indented: by spaces that show, or by its style."""
    widths = [0 if cell is None else _indent(cell) for cell in cells]
    order = sorted({0, *widths})
    return [order.index(width) for width in widths]


def _indent(cell: Tag) -> int:
    text = cell.get_text().lstrip("\n\r\t ")
    spaces = len(text) - len(text.lstrip(SPACES))
    styles = " ".join(str(tag.get("style", "")) for tag in [cell, *cell.find_all(True)][:3])
    padding = _PADDING.search(styles)
    return spaces or (int(padding[1]) if padding else 0)


def _span(tag: Tag, name: str) -> int:
    value = str(tag.get(name) or 1)
    return min(max(int(value), 1), MAX_SPAN) if value.isdecimal() else 1


def _of_markdown(tokens: Sequence[Token]) -> Iterator[TableGrid]:
    grid: list[list[Cell | None]] = []
    begin = line = width = 0
    for at, token in enumerate(tokens):
        match token.type:
            case "table_open":
                grid, begin = [], (token.map or [0])[0] + 1
            case "tr_open":
                grid.append([])
                width = token.meta.get(WIDTH, 0)
                line = (token.map or [begin])[0] + 1
            case "th_open" | "td_open":
                text = _with_marks(tokens[at + 1], is_first=not grid[-1])
                parts = filter(None, map(str.strip, text.split(BREAK)))
                grid[-1].append(Cell(tuple(Item(part, 0, line) for part in parts), line))
            case "tr_close":
                if width > len(grid[-1]):
                    grid[-1].append(None)
            case "table_close":
                yield TableGrid("", (begin, 0), tuple(map(tuple, grid)))
