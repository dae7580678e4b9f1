"""The report in the terminal: percentiles while the test runs, tables when it has ended."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any, Final

import gevent
from locust.runners import WorkerRunner
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from loadtests.measure import locust_rows as rows
from loadtests.report.results import verdict
from loadtests.run.progress import progress
from loadtests.secret import plain

if TYPE_CHECKING:
    from pathlib import Path

    from locust.env import Environment

    from loadtests.run.session import Session

EVERY_S: Final = {True: 1.0, False: 5.0}
"""Seconds between two lines of progress, on a terminal and elsewhere."""
WIDTH: Final = 200
COLUMNS: Final = ("count", "mean", "p50", "p90", "p95", "p99", "p99.9", "max")
FEW: Final = ("p50", "p95", "p99")
NARROW: Final = 72
"""A terminal of fewer columns shows a few of ours."""


def follow(environment: Environment, session: Session) -> None:
    """Says on stderr how the test goes, while it runs."""

    def start(**_: Any) -> None:
        runner: Any = environment.runner
        if not isinstance(runner, WorkerRunner) and environment.parsed_options.headless:  # type: ignore[union-attr]
            runner.greenlet.spawn(_tell, environment, session)

    environment.events.test_start.add_listener(start)


def _tell(environment: Environment, session: Session) -> None:
    live = sys.stderr.isatty()
    while True:
        gevent.sleep(EVERY_S[live])
        tally = session.sending.tally
        parts = [progress(session), f"{tally.requests} done", f"{tally.failures} failed"]
        for name, share in (("TTFT", 0.5), ("TTFT", 0.99), ("ITL", 0.99)):
            entry: Any = environment.stats.entries.get((name, rows.METHOD))
            if entry is not None and entry.num_requests:
                value = entry.get_response_time_percentile(share)
                parts.append(f"{name} p{share * 100:g} {value:g} ms")
        line = ", ".join(part for part in parts if part)
        width = shutil.get_terminal_size().columns  # a longer line would stay
        sys.stderr.write(f"\r\x1b[2K{line[: width - 1]}" if live else f"{line}\n")
        sys.stderr.flush()


def complain(text: str) -> None:
    """One line about what went wrong on our side."""
    sys.stderr.write(f"Error: {text}\n")


def show(made: dict[str, Any], out: Path | None) -> None:
    """The tables of a finished test."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K")
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    target, counts, load = made["target"], made["counts"], made["load"]
    how = f"{load['users']} users" if load["loop"] == "closed" else f"{load['arrivals']} arrivals"
    rate = f" of {load['rate_per_s']:g}/s" if load["rate_per_s"] else ""
    where = escape(f"{target['url']} as {target['dialect']}")
    console.print(f"{where}, {how}{rate}, {load['measured_s']:g} s measured")
    _print_latencies(console, made)
    rates = made["rates_per_s"]
    console.print(
        f"{counts['requests']} requests, {counts['failures']} failed; {_number(rates['requests'])} answers/s, "
        f"{_number(rates['tokens'])} tokens/s, goodput {_number(rates['goodput'])}/s"
    )
    for failure in made["failures"]:
        console.print(f"failed: {failure['count']} x {failure['kind']}: {_plain(failure['first'])}")
    judged = made["conformance"]
    for finding in judged["findings"]:
        console.print(f"broken under load: {finding['count']} x {finding['rule']}: {_plain(finding['first'])}")
    if judged["streams_judged"] and not judged["findings"]:
        console.print(f"{judged['streams_judged']} streams judged by the contract's rules, nothing broken")
    for objective in made["objectives"]:
        word = "met" if objective["met"] else "MISSED"
        console.print(f"{word}: {escape(objective['objective'])} ({_number(objective['value'])})")
    for doubt in made["doubts"]:
        word = "measurement in doubt" if doubt["invalid"] else "note"
        console.print(f"{word}: {escape(doubt['text'])}")
    console.print(f"{_plain(verdict(made))} (exit code {made['exit_code']})")
    if out is not None:
        console.print(f"written: {out / 'report.html'}, results.json and requests.csv", markup=False, soft_wrap=True)


def _print_latencies(console: Console, made: dict[str, Any]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("ms", no_wrap=True)
    shown = COLUMNS if console.width >= NARROW else FEW
    for title in shown:
        table.add_column(title, justify="right", no_wrap=True)
    for name, row in made["latencies_ms"].items():
        values = {"mean": row["mean"], "max": row["max"]}
        values |= {f"p{share}": value for share, value in row["percentiles"].items()}
        cells = {"count": str(row["count"])} | {title: _number(value) for title, value in values.items()}
        table.add_row(name, *(cells[title] for title in shown))
    console.print(table)


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.4g}"


def _plain(text: str) -> str:
    return escape(plain(text))
