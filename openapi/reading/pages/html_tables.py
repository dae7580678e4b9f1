"""Read HTML tables, also inside Markdown, and Markdown tables, with cells that span rows and columns.

A cell with only a dash spans the rows of one nested level; the row above its first row is their parent.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openapi.reading.pages.code.commented_objects import read_commented_objects
from openapi.reading.pages.code.declared_types import read_declared_types
from openapi.reading.pages.code.tokens import find_blocks
from openapi.reading.pages.column_headers import parse_column
from openapi.reading.pages.columns import (
    NO_PART,
    detect_part,
    read_required,
    read_value,
    recognize_columns,
    state_limit,
)
from openapi.reading.pages.entries.definition_lists import read_definition_lists
from openapi.reading.pages.entries.name_lists import read_name_lists
from openapi.reading.pages.entries.param_fields import read_param_fields
from openapi.reading.pages.entries.parameter_headings import read_parameter_headings
from openapi.reading.pages.entries.parameter_sections import ParameterSections
from openapi.reading.pages.headings import PARAGRAPH, Heading, enclosing_headings, find_headings
from openapi.reading.pages.names import parse_name
from openapi.reading.pages.nesting import name_request, place_objects
from openapi.reading.pages.operations import is_outside_body, select_operation, state_presence
from openapi.reading.pages.row import DASHES, Cell, Item, Rows, TableRow, UnreadPassage, separate
from openapi.reading.pages.table_grid import find_tables, is_title, parse_markup, split_header
from openapi.reading.pages.unsupported_lists import announces_unsupported, read_unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.reading.pages.column_headers import Column
    from openapi.reading.pages.row import Part
    from openapi.reading.pages.table_grid import TableGrid

FORM = "HTML or Markdown tables"
_HTTP_STATUS = re.compile(r"`?[1-5]\d\d\b.*", re.DOTALL)


def read(text: str, wanted: Sequence[str] = ()) -> Rows | None:
    """Read all rows of all tables of parameters in a page of HTML or Markdown, in the order of the page.

    wanted: words of the headings below which rows are read; empty for those about chat completions.
    """
    tokens, soup = parse_markup(text)
    headings = find_headings(tokens, soup)
    tables = find_tables(tokens, soup)
    results = [(table.position, row) for table in tables for row in _rows(table, headings)]
    if not any(isinstance(row, TableRow) for _, row in results):  # no heading helps: the tables speak for themselves
        results = [(table.position, row) for table in tables for row in _rows(table, headings, alone=True)]
    sections = ParameterSections(tokens, soup, headings)
    results = list(place_objects(results, headings, sections.find_parent))
    results += [(heading.position, row) for heading in headings for row in _unsupported(heading, headings)]
    results += read_param_fields(soup)
    is_alone = not any(isinstance(row, TableRow) and row.part == "request" for _, row in results)
    listed = list(read_name_lists(tokens, soup, headings, text.split("\n"), alone=is_alone))
    results += read_parameter_headings(sections, listed, alone=is_alone)
    results += read_definition_lists(soup, headings)
    blocks = list(find_blocks(tokens, soup))
    results += [*read_declared_types(blocks), *read_commented_objects(blocks)]
    results = list(state_presence(sorted(results, key=lambda result: result[0]), headings))
    return separate(FORM, [row for _, row in select_operation(results, headings, wanted)])


def _unsupported(heading: Heading, headings: Sequence[Heading]) -> list[TableRow | UnreadPassage]:
    """Return the rows of a list of unsupported parameters, if the heading announces one."""
    if not announces_unsupported(heading.words) or heading.level == PARAGRAPH:
        return []
    part = detect_part((), [heading.words, *enclosing_headings(headings, heading.position)], "")
    if part is None:
        return [UnreadPassage(heading.position[0], NO_PART, heading.words)]
    return list(read_unsupported(part, heading.entries))


def _rows(table: TableGrid, headings: Sequence[Heading], *, alone: bool = False) -> list[TableRow | UnreadPassage]:
    headers, body = split_header(table)
    body = [cells for cells in body if not is_title(cells) or _tables_in(cells)]
    recognized = recognize_columns(headers, body)
    if recognized is None:
        return _error_codes(table)
    found = recognized.columns
    order = sorted(range(len(found)), key=[column != "name" for column in found].__getitem__)  # names first
    headers, columns = [headers[at] for at in order], tuple(found[at] for at in order)
    body = [tuple(cells[at] for at in order) if len(cells) == len(order) else cells for cells in body]
    first = next((cell for row in body[:1] for cell in row if cell), None)
    titles = [*filter(None, [table.caption]), *enclosing_headings(headings, table.position)]
    if is_outside_body(titles):
        return []
    part = detect_part(columns, [*titles, headers[0]] if alone else titles, first.text if first else "")
    if part is None and alone and name_request(_first_names(body)):
        part = "request"
    if part is None:
        return [UnreadPassage(table.position[0], NO_PART, " < ".join(titles))]
    names = columns.count("name")
    line = table.position[0]
    rows: list[TableRow | UnreadPassage] = [UnreadPassage(line, *reversed(doubt)) for doubt in recognized.doubts]
    path: tuple[str, ...] = ()
    above: Sequence[Cell | None] = ()
    for cells in body:
        if is_title(cells):
            rows += _inner_rows(cells, part, path, headers, columns)
            continue
        words = " | ".join(cell.text for cell in dict.fromkeys(cells) if cell)
        line = next((cell.line for cell in dict.fromkeys(reversed(cells)) if cell), table.position[0])
        if len(cells) != len(columns) or None in cells:
            rows.append(UnreadPassage(line, _describe_misfit(cells, len(columns)), words))
            continue
        depth = next((x for x in range(names) if not _is_dash(cells[x])), names)
        name = cells[depth] if depth < names else None
        fits = depth <= len(path) and all(cells[x] is above[x] for x in range(min(depth, len(path) - 1)))
        if name is None or not fits or any(cells[x] is not name for x in range(depth, names)):
            rows.append(UnreadPassage(line, "the nested levels of this row contradict those of the row above", words))
            continue
        written = parse_name(name.text)
        if written is None:
            rows.append(UnreadPassage(line, "the row does not begin with a name", words))
            continue
        inner = written.depth if names == 1 and path else 0
        path = (*path[:inner], *written.path) if inner else (*path[:depth], *written.path)
        above = cells
        rows.append(_row(part, path, name.line, columns, headers, cells, written.rest))
        rows += _inner_rows(cells, part, path, headers, columns)
    return rows


def _describe_misfit(cells: Sequence[Cell | None], columns: int) -> str:
    if len(cells) > columns:
        return f"the row has more cells than the {columns} columns: is there a bar in a cell?"
    return f"the row fills {sum(map(bool, cells))} of {columns} columns"


def _first_names(body: Sequence[Sequence[Cell | None]]) -> Iterator[str]:
    written = (parse_name(row[0].text) for row in body if row and row[0])
    return (name.path[0] for name in written if name)


def _tables_in(cells: Sequence[Cell | None]) -> list[TableGrid]:
    return [table for cell in dict.fromkeys(cells) if cell for table in cell.tables]


def _inner_rows(
    cells: Sequence[Cell | None], part: Part, path: tuple[str, ...], headers: Sequence[str], columns: tuple[Column, ...]
) -> Iterator[TableRow | UnreadPassage]:
    """Yield the rows of tables in the cells of a parameter, which describe its fields.

    headers, columns: of the table around them, which a table without headers shares.
    """
    for table in _tables_in(cells):
        own, body = split_header(table)
        has_headers = any(parse_column(header) == "name" for header in own)
        recognized = recognize_columns(own, body) if has_headers else None
        found, shown = (recognized.columns, own) if recognized else (columns, headers)
        if recognized is None:
            body = [row for row in table.grid if len(row) == len(columns)]
        line, words = table.position[0], " ".join(cell.text for row in table.grid for cell in row if cell)
        if not path or not body or "name" not in found:
            yield UnreadPassage(line, "a table in a cell that describes no field", words)
            continue
        at = found.index("name")
        for row in body:
            name = row[at] if len(row) == len(found) and None not in row else None
            written = parse_name(name.text) if name else None
            if name is None or written is None:
                yield UnreadPassage(line, "the row does not begin with a name", " | ".join(c.text for c in row if c))
                continue
            inner = (*path, *written.path)
            yield _row(part, inner, name.line, found, shown, row, written.rest)
            yield from _inner_rows(row, part, inner, shown, found)


def _row(
    part: Part,
    path: tuple[str, ...],
    line: int,
    columns: Sequence[Column],
    headers: Sequence[str],
    cells: Sequence[Cell | None],
    remark: str,
) -> TableRow:
    """Make the row of a table. `remark`: the words next to the name, such as `optional`."""
    by_column = dict(zip(columns, cells, strict=True))
    others = [
        (header, state_limit(header, cell))
        for header, column, cell in zip(headers, columns, cells, strict=True)
        if column == "other" and cell is not None and cell.items
    ]
    required = read_required(by_column)
    if remark and required is None and remark.lower() in ("required", "optional"):
        required = Cell((Item(remark, 0, line),), line)
    elif remark:
        others.append(("next to the name", Cell((Item(remark, 0, line),), line)))
    return TableRow(
        part=part,
        path=path,
        line=line,
        type=by_column.get("type"),
        required=required,
        prose=by_column.get("prose"),
        value=read_value(by_column, dict(zip(columns, headers, strict=True))),
        others=tuple(others),
    )


def _is_dash(cell: Cell | None) -> bool:
    return cell is not None and len(cell.items) == 1 and cell.text in DASHES


def _error_codes(table: TableGrid) -> list[TableRow | UnreadPassage]:
    """Return one row that lists the codes of a table of error codes; other tables have no parameters."""
    header, *body = table.grid or ((),)
    if len(header) < 2 or header[0] is None or header[0].text.lower() not in ("code", "error code", "错误码"):
        return []
    first = [cells[0] for cells in body if cells and cells[0] is not None]
    if all(_HTTP_STATUS.fullmatch(cell.text) for cell in first):
        return []  # `openapi.reading.answers` reads the statuses of errors
    line = table.position[0]
    items = (Item("Possible values:", 0, line), *(Item(f"{cell.text}:", 1, cell.line) for cell in first))
    return [TableRow("errors", ("code",), line, value=Cell(items, line))] if first else []
