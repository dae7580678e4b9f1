"""Tables are legible at the widths of common terminals: no word of a cell is lost, and no cell is a thin column."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from rich.console import Console
from rich.table import Table
from rich.text import Text

from openapi.console import LEAST_WIDTH, LegibleTable
from openapi.spec_commands import diff, print_matrix

if TYPE_CHECKING:
    import click

WIDTHS = (60, 80, 120)
CELLS = {
    "name": ("a-name-that-is-rather-long-but-is-one-word", "short"),
    "says": ("The server answers with a status of 400 and says which parameter is wrong.", "Nothing."),
    "source": ("acme-2.3#request/temperature", ""),
    "more": ("[red]no[/red] longer than the others, but long enough", "x"),
}


def draw(table: LegibleTable | Table, width: int) -> str:
    output = io.StringIO()
    Console(file=output, width=width, highlight=False).print(table)
    return output.getvalue()


def make_table() -> Table:
    table = Table(title="Rows", box=None)
    for name in CELLS:
        table.add_column(name, overflow="fold")
    for cells in zip(*CELLS.values(), strict=True):
        table.add_row(*cells)
    return table


def test_every_word_is_shown_where_the_terminal_is_narrow() -> None:
    text = draw(LegibleTable(make_table()), 60)
    assert max(map(len, text.splitlines())) <= 60
    joined = re.sub(r"\s+", "", text)
    for cells in CELLS.values():
        for cell in cells:
            for word in Text.from_markup(cell).plain.split():
                assert word in joined


def test_a_narrow_terminal_gets_blocks_and_a_wide_one_the_table() -> None:
    table = make_table()
    assert draw(table, 120) == draw(LegibleTable(table), 120)
    assert draw(LegibleTable(table), 60).splitlines()[:5] == [
        "Rows",
        "a-name-that-is-rather-long-but-is-one-word",
        "  says    The server answers with a status of 400 and says  ",
        "          which parameter is wrong.                         ",
        "  source  acme-2.3#request/temperature                      ",
    ]
    assert draw(LegibleTable(table, heads=2), 60).splitlines()[-2] == "short Nothing."


@pytest.mark.parametrize("width", [*WIDTHS, 300])
def test_a_table_is_shown_only_where_each_column_has_its_width_or_a_legible_one(width: int) -> None:
    table = make_table()
    text = draw(LegibleTable(table), width)
    is_table = text == draw(table, width)
    assert is_table is (width >= 4 * (LEAST_WIDTH + 2))
    assert max(map(len, text.splitlines())) <= width


def test_a_block_by_value_lists_each_value_once() -> None:
    table = Table()
    for name in ("", "one", "two", "three", "four", "five"):
        table.add_column(name)
    table.add_row("top_k", "integer", "-1 or more", "integer", "", "integer")
    lines = [line.rstrip() for line in draw(LegibleTable(table, by_value=True), 50).splitlines()]
    assert lines == ["top_k", "  integer     one, three, five", "  -1 or more  two", "  -           four"]


@pytest.mark.takes_turns
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("command", "arguments"), [(print_matrix, ()), (diff, ("mindie", "openai"))])
def test_the_columns_of_a_command_are_never_thinner_than_is_legible(
    command: click.Command, arguments: tuple[str, ...], width: int
) -> None:
    text = CliRunner(env={"COLUMNS": str(width)}).invoke(command, arguments).stdout
    lines = text.splitlines()
    assert len(lines) > 100
    assert max(map(len, lines)) <= width
    for line in (line for line in lines if line.startswith("┏")):
        columns = [len(part) - 2 for part in re.findall("━+", line)]
        assert sum(columns) / len(columns) > LEAST_WIDTH / 2
    assert 120 == width or "┏" not in text
