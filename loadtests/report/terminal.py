"""Print the report in the terminal: a line of progress while the test runs, tables when it has ended."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any, Final

import gevent
from locust.runners import WorkerRunner
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from loadtests.measure.locust_rows import METHOD
from loadtests.report.results import describe_load, describe_verdict
from loadtests.secret import to_printable
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from locust.env import Environment

    from loadtests.measure.tally import Tally

INTERVAL_S: Final = {True: 1.0, False: 5.0}
"""Seconds between two lines of progress, in a terminal and elsewhere."""
WIDTH: Final = 200
COLUMNS: Final = ("count", "mean", "p50", "p90", "p95", "p99", "p99.9", "max")
FEW_COLUMNS: Final = ("p50", "p95", "p99")
NARROW: Final = 72
"""A terminal with fewer characters in a line gets a few columns only."""


def follow_progress(environment: Environment, tally: Tally, describe_progress: Callable[[], str]) -> None:
    """Print the progress of each test to stderr while it runs."""

    def start(**_: Any) -> None:
        runner: Any = environment.runner
        if not isinstance(runner, WorkerRunner) and environment.parsed_options.headless:  # type: ignore[union-attr]
            runner.greenlet.spawn(_print_progress, environment, tally, describe_progress)

    environment.events.test_start.add_listener(start)


def _print_progress(environment: Environment, tally: Tally, describe_progress: Callable[[], str]) -> None:
    live = sys.stderr.isatty()
    while True:
        gevent.sleep(INTERVAL_S[live])
        parts = [describe_progress(), f"{tally.requests} done", f"{tally.failures} failed"]
        for name, share in (("TTFT", 0.5), ("TTFT", 0.99), ("ITL", 0.99)):
            entry: Any = environment.stats.entries.get((name, METHOD))
            if entry is not None and entry.num_requests:
                value = entry.get_response_time_percentile(share)
                parts.append(f"{name} p{share * 100:g} {value:g} ms")
        line = ", ".join(part for part in parts if part)
        width = shutil.get_terminal_size().columns  # a longer line would wrap and not be erased
        sys.stderr.write(f"\r\x1b[2K{line[: width - 1]}" if live else f"{line}\n")
        sys.stderr.flush()


def print_error(text: str) -> None:
    """Print an error of the load test itself."""
    sys.stderr.write(f"chatproof: {text}\n")


def print_report(results: dict[str, Any], out: Path | None) -> None:
    """Print the tables of a test that has ended. out: the folder of the reports, if they were written."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K")
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    target, counts, load = results["target"], results["counts"], results["load"]
    where = escape(f"{target['url']} as {target['dialect']}")
    console.print(f"{where}, {describe_load(load)}, {load['measured_s']:g} s measured")
    _print_latencies(console, results)
    rates = results["rates_per_s"]
    console.print(
        f"{format_quantity(counts['requests'], 'request')}, {counts['failures']} failed; "
        f"{_format_number(rates['requests'])} answers/s, "
        f"{_format_number(rates['tokens'])} tokens/s, goodput {_format_number(rates['goodput'])}/s"
    )
    for failure in results["failures"]:
        console.print(f"failed: {failure['count']} x {failure['kind']}: {_escape(failure['first'])}")
    checked = results["conformance"]
    for finding in checked["findings"]:
        console.print(f"rule violated: {finding['count']} x {finding['rule']}: {_escape(finding['first'])}")
    if checked["streams_judged"] and not checked["findings"]:
        streams = format_quantity(checked["streams_judged"], "stream")
        console.print(f"{streams} checked against the contract's rules, no violations")
    for objective in results["objectives"]:
        word = "met" if objective["met"] else "MISSED"
        console.print(f"{word}: {escape(objective['objective'])} ({_format_number(objective['value'])})")
    for doubt in results["doubts"]:
        word = "measurement in doubt" if doubt["invalid"] else "note"
        console.print(f"{word}: {_escape(doubt['text'])}")
    console.print(f"{_escape(describe_verdict(results))} (exit code {results['exit_code']})")
    if out is not None:
        console.print(f"written: {out / 'report.html'}, results.json and requests.csv", markup=False, soft_wrap=True)


def _print_latencies(console: Console, results: dict[str, Any]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("ms", no_wrap=True)
    shown = COLUMNS if console.width >= NARROW else FEW_COLUMNS
    for title in shown:
        table.add_column(title, justify="right", no_wrap=True)
    for name, row in results["latencies_ms"].items():
        values = {"mean": row["mean"], "max": row["max"]}
        values |= {f"p{share}": value for share, value in row["percentiles"].items()}
        cells = {"count": str(row["count"])} | {title: _format_number(value) for title, value in values.items()}
        table.add_row(name, *(cells[title] for title in shown))
    console.print(table)


def _format_number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.4g}"


def _escape(text: str) -> str:
    return escape(to_printable(text))
