"""`chatproof load calibrate`: print the errors and costs of the load client, and whether they meet their limits."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.table import Table

from loadtests.calibrate.calibration import (
    FIREHOSE,
    INSTALLATION,
    LIMITS,
    OPEN_LOOP_RATE,
    PACED,
    STREAMS,
    TITLES,
    WHOLE_TOOL_S,
    WHOLE_TOOL_STREAMS,
    CalibrationRow,
    measure_baseline,
    measure_open_loop,
    measure_start_s,
    measure_transport,
    measure_whole_tool,
    run_schedule_server,
    summarize_turns,
)
from loadtests.calibrate.installed_size import installed_mb
from loadtests.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INVALID: Final = 4
WIDTH: Final = 160
STARTS: Final = 3
ROUNDS: Final = 5
"""In each round every row has a turn, so that its turns are spread over the whole run: a machine that is slow for a
minute is not slow in all of them."""


@click.command(name="calibrate", context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--streams", multiple=True, type=click.IntRange(1, 2000), help="Number of concurrent streams, repeatable."
)
@click.option("--quick", is_flag=True, help="Skip the runs of the whole tool.")
def calibrate(streams: tuple[int, ...], quick: bool) -> None:
    """Calibrate the timer against a server with known timings; exit with 4 if a figure exceeds its limit."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    before = _read_cpu_ticks()
    try:
        with run_schedule_server() as url, console.status("calibrating") as status:
            rows = _measure(url, streams or STREAMS, quick=quick, update_status=status.update)
    except UsageError as error:
        raise click.ClickException(str(error)) from error
    _print_rows(console, rows)
    console.print(_describe_machine(before))
    verdicts = [(limit, *limit.check(rows)) for limit in LIMITS]
    for limit, value, met in verdicts:
        if value is not None:
            sign, word = ">=" if limit.at_least else "<=", "met" if met else "MISSED"
            row = f"{limit.name}, {limit.streams}" if limit.name != INSTALLATION else limit.name
            console.print(f"{word}: {row}: {TITLES[limit.figure]} {value:.4g}, limit {sign} {limit.limit:g}")
    raise SystemExit(0 if all(met for _, _, met in verdicts) else INVALID)


def _measure(
    url: str, streams: tuple[int, ...], *, quick: bool, update_status: Callable[[str], None]
) -> list[CalibrationRow]:
    measure_transport(url, 1)  # warms up imports and caches
    rounds = []
    for number in range(1, ROUNDS + 1):
        update_status(f"round {number} of {ROUNDS}")
        rounds.append(list(_measure_turns(url, streams, quick=quick)))
    rows = [summarize_turns(turns) for turns in zip(*rounds, strict=True)]
    if not quick:
        update_status("open loop and start")
        rows.append(measure_open_loop(url, OPEN_LOOP_RATE, WHOLE_TOOL_S))
        starts = sorted(measure_start_s(url) for _ in range(STARTS))
        figures = {"installed_mb": installed_mb(), "start_s": starts[STARTS // 2]}
        rows.append(CalibrationRow(INSTALLATION, 1, figures))
    return rows


def _measure_turns(url: str, streams: tuple[int, ...], *, quick: bool) -> Iterator[CalibrationRow]:
    for number in streams:
        yield measure_baseline(url, number)
        yield measure_transport(url, number)
    if not quick:
        yield measure_whole_tool(url, WHOLE_TOOL_STREAMS, PACED, WHOLE_TOOL_S)
        yield measure_whole_tool(url, 1, FIREHOSE, WHOLE_TOOL_S / 2)


def _read_cpu_ticks() -> list[int]:
    """Return the machine's processor time so far, by kind; empty without /proc."""
    path = Path("/proc/stat")
    return [int(part) for part in path.read_text().split("\n", 1)[0].split()[1:]] if path.exists() else []


def _describe_machine(before: list[int]) -> str:
    """Describe the other work of the machine: a missed limit means little if the processors were busy."""
    passed = [after - earlier for earlier, after in zip(before, _read_cpu_ticks(), strict=True)]
    stolen = f", {passed[7] / max(1, sum(passed)):.1%} of processor time stolen by the host" if passed else ""
    return f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.2g}{stolen}"


def _print_rows(console: Console, rows: list[CalibrationRow]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("streams", justify="right")
    for title in TITLES.values():
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(row.name, str(row.streams), *(_format_cell(row.figures.get(figure)) for figure in TITLES))
    console.print(table)


def _format_cell(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 1e3 else f"{value:.3g}"
