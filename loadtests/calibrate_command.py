"""`chatproof load calibrate`: the table of errors, and whether they are within the budget."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.table import Table

from loadtests.calibrate import (
    BUDGET,
    FIREHOSE,
    PACED,
    STREAMS,
    WHOLE_S,
    WHOLE_STREAMS,
    schedule_server,
    transport,
    whole_tool,
)
from loadtests.errors import UsageError

if TYPE_CHECKING:
    from loadtests.calibrate import Measured

INVALID: Final = 4
WIDTH: Final = 140


@click.command(name="calibrate", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--streams", "wanted", multiple=True, type=click.IntRange(1, 2000), help="Streams at a time. Repeatable.")
@click.option("--quick", is_flag=True, help="Leave out the runs of the whole tool.")
def calibrate(wanted: tuple[int, ...], quick: bool) -> None:
    """Hold our clock against a server on a known schedule; exit 4 when it is over the budget."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    rows: list[Measured] = []
    try:
        with schedule_server() as url, console.status("driving the calibration server") as status:
            transport(url, 1)  # imports and caches
            for streams in wanted or STREAMS:
                status.update(f"{streams} streams")
                rows.append(transport(url, streams))
            if not quick:
                status.update(f"the whole tool, {WHOLE_STREAMS} streams")
                rows.append(whole_tool(url, WHOLE_STREAMS, PACED, WHOLE_S))
                status.update("the whole tool, as fast as it goes")
                rows.append(whole_tool(url, 1, FIREHOSE, WHOLE_S / 2))
    except UsageError as error:
        raise click.ClickException(str(error)) from error
    _print(console, rows)
    verdicts = [(bound, *bound.kept(rows)) for bound in BUDGET]
    for bound, value, kept in verdicts:
        if value is not None:
            sign = ">=" if bound.at_least else "<="
            word = "within budget" if kept else "OVER BUDGET"
            console.print(
                f"{word}: {bound.name}, {bound.streams} streams, {bound.figure} {value:.4g} {sign} {bound.limit:g}"
            )
    raise SystemExit(0 if all(kept for _, _, kept in verdicts) else INVALID)


COLUMNS: Final = (
    *("streams", "chunks", "TTFT error p99 ms", "ITL error p99 ms"),
    *("CPU us/chunk", "chunks/s/core", "server's ITL p99 ms"),
)


def _print(console: Console, rows: list[Measured]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for title in COLUMNS:
        table.add_column(title, justify="right")
    for row in rows:
        figures = (row.ttft_error_ms, row.gap_error_ms, row.cpu_us, row.chunks_per_cpu_s, row.server_gap_ms)
        shown = ("" if each is None else f"{each:,.0f}" if each >= 1e4 else f"{each:.4g}" for each in figures)
        table.add_row(row.name, str(row.streams), str(row.chunks), *shown)
    console.print(table)
