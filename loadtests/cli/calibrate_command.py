"""`chatproof load calibrate`: the table of errors and costs, and whether each figure is within its budget."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.table import Table

from loadtests.calibrate.calibration import (
    BUDGET,
    FIREHOSE,
    PACED,
    RATE,
    STREAMS,
    TITLES,
    WEIGHT,
    WHOLE_S,
    WHOLE_STREAMS,
    Measured,
    bare,
    of_turns,
    open_loop,
    schedule_server,
    start,
    transport,
    whole_tool,
)
from loadtests.calibrate.installed_size import installed_mb
from loadtests.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INVALID: Final = 4
WIDTH: Final = 160
STARTS: Final = 3
ROUNDS: Final = 5
"""In each round everything has a turn, so that the turns of one are spread over the whole run: a machine that is slow
for a minute is not slow in all of them."""


@click.command(name="calibrate", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--streams", "wanted", multiple=True, type=click.IntRange(1, 2000), help="Streams at a time. Repeatable.")
@click.option("--quick", is_flag=True, help="Leave out the runs of the whole tool.")
def calibrate(wanted: tuple[int, ...], quick: bool) -> None:
    """Hold our clock against a server on a known schedule; exit 4 when it is over the budget."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    before = _ticks()
    try:
        with schedule_server() as url, console.status("driving the calibration server") as status:
            rows = _measure(url, wanted or STREAMS, quick=quick, tell=status.update)
    except UsageError as error:
        raise click.ClickException(str(error)) from error
    _print(console, rows)
    console.print(_machine(before))
    verdicts = [(bound, *bound.kept(rows)) for bound in BUDGET]
    for bound, value, kept in verdicts:
        if value is not None:
            sign, word = ">=" if bound.at_least else "<=", "within budget" if kept else "OVER BUDGET"
            what = f"{bound.name}, {bound.streams}" if bound.name != WEIGHT else bound.name
            console.print(f"{word}: {what}: {TITLES[bound.figure]} {value:.4g} {sign} {bound.limit:g}")
    raise SystemExit(0 if all(kept for _, _, kept in verdicts) else INVALID)


def _measure(url: str, wanted: tuple[int, ...], *, quick: bool, tell: Callable[[str], None]) -> list[Measured]:
    transport(url, 1)  # imports and caches
    rounds = []
    for at in range(1, ROUNDS + 1):
        tell(f"round {at} of {ROUNDS}")
        rounds.append(list(_turns(url, wanted, quick=quick)))
    rows = [of_turns(turns) for turns in zip(*rounds, strict=True)]
    if not quick:
        tell("open loop and start")
        rows.append(open_loop(url, RATE, WHOLE_S))
        starts = sorted(start(url) for _ in range(STARTS))
        rows.append(Measured(WEIGHT, 1, {"installed_mb": installed_mb(), "start_s": starts[STARTS // 2]}))
    return rows


def _turns(url: str, wanted: tuple[int, ...], *, quick: bool) -> Iterator[Measured]:
    for streams in wanted:
        yield bare(url, streams)
        yield transport(url, streams)
    if not quick:
        yield whole_tool(url, WHOLE_STREAMS, PACED, WHOLE_S)
        yield whole_tool(url, 1, FIREHOSE, WHOLE_S / 2)


def _ticks() -> list[int]:
    """The machine's processor time so far, by kind; empty where there is no /proc."""
    path = Path("/proc/stat")
    return [int(part) for part in path.read_text().split("\n", 1)[0].split()[1:]] if path.exists() else []


def _machine(before: list[int]) -> str:
    """What else the machine did: a figure over budget means little where the processors were taken."""
    passed = [after - earlier for earlier, after in zip(before, _ticks(), strict=True)]
    stolen = f", {passed[7] / max(1, sum(passed)):.1%} of processor time stolen by the host" if passed else ""
    return f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.2g}{stolen}"


def _print(console: Console, rows: list[Measured]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("streams", justify="right")
    for title in TITLES.values():
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(row.name, str(row.streams), *(_cell(row.figures.get(each)) for each in TITLES))
    console.print(table)


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 1e3 else f"{value:.3g}"
