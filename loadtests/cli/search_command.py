"""`chatproof load search`: find the highest rate at which the objectives are met, and plot the goodput by rate."""

from __future__ import annotations

import json
import math
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from loadtests.cli.load_checks import (
    PLACEHOLDER_URL,
    check_options,
    check_server,
    parse_locust_arguments,
    require_dialect,
    require_locust,
)
from loadtests.cli.load_options import OUT, add_load_options, format_options, wait_option
from loadtests.cli.locust_process import LOCUSTFILE, locust_time_limit, run_locust, server_arguments
from loadtests.cli.rate_search import RateSearch, RateStep, is_saturated
from loadtests.measure.confidence import min_trials, wilson_interval
from loadtests.report.html import render_report
from loadtests.report.results import FAILURES, INTERNAL_ERROR, INTERRUPTED, INVALID, MET, MISSED, describe_failures
from loadtests.secret import to_printable
from openapi.command_options.duration import Duration
from openapi.whole_file import write_whole_text

if TYPE_CHECKING:
    from loadtests.cli.locust_process import Embedder


@click.command(name="search", context_settings={"help_option_names": ["-h", "--help"], "ignore_unknown_options": True})
@click.argument("url", required=False)
@click.option(
    "--from",
    "first",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="First rate to try, requests per second.",
)
@click.option(
    "--to",
    "greatest",
    default=1000.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Highest rate to try, requests per second.",
)
@click.option(
    "--share",
    default=0.95,
    show_default=True,
    type=click.FloatRange(0.5, 0.999),
    help="Share of answers that must be good, by the lower end of Wilson's 95 % interval.",
)
@click.option(
    "--precision",
    default=0.1,
    show_default=True,
    type=click.FloatRange(0.01, 1),
    help="Relative precision of the result.",
)
@click.option(
    "--time",
    "seconds",
    default="20s",
    show_default=True,
    type=Duration(positive=True),
    metavar="TIME",
    help="Measured time of each rate; longer if --share needs more requests.",
)
@click.option(
    "--warm-up", default="2s", show_default=True, type=Duration(), metavar="TIME", help="Time before the measurement."
)
@wait_option
@add_load_options
@click.argument("more", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def search(embedded: Embedder | None, /, url: str | None, first: float, greatest: float, share: float, precision: float,
           seconds: float, warm_up: float, wait: float, more: tuple[str, ...], **options: Any) -> None:  # fmt: skip
    """Find the highest rate at which the objectives are met: double it until they are not, then bisect."""
    require_locust()
    if not options["objective"]:
        raise click.UsageError("missing option --objective: for example --objective ttft_p95=300ms")
    if options["rate"] is not None or options["trace"] or options["shape"] != "steady":
        raise click.UsageError("the search chooses constant rates: remove --rate, --trace and --shape")
    if first > greatest:
        raise click.UsageError(f"--from {first:g} is greater than --to {greatest:g}")
    url, more = parse_locust_arguments(url, more)
    require_dialect(url)
    values = {
        **options,
        "rate": first,
        "seconds": seconds,
        "warm_up": warm_up,
        "num_users": 1,
        "host": PLACEHOLDER_URL if url is None else url,
    }
    check_options(values)
    if url is not None:
        check_server(url, values, wait, more)
    out = Path(options.pop("out") or OUT)
    console = Console(highlight=False)
    rate_search = RateSearch(first, greatest, share, precision)
    last: dict[str, Any] | None = None
    interrupted = False
    with ExitStack() as stack:
        environment = dict(os.environ)
        address = server_arguments(stack, embedded, url, options["dialect"], environment)
        while (rate := rate_search.next_rate()) is not None:
            time_s = max(seconds, math.ceil(min_trials(share) * 1.2 / rate))
            console.print(f"{rate:.4g}/s for {time_s:g} s")
            results, code = _run_test(
                time_s, warm_up, [*address, *format_options({**options, "rate": rate, "out": None}), *more], environment
            )
            if interrupted := code == INTERRUPTED:
                break
            if results is None:
                raise SystemExit(code)
            if results["failures"] and results["counts"]["failures"] == results["counts"]["requests"]:
                failure = results["failures"][0]
                text = f"{describe_failures(results['counts'])}: {failure['kind']}: {to_printable(failure['first'])}"
                console.print(text, markup=False, soft_wrap=True)
                if rate_search.highest_holding is None:  # a lower rate would not help
                    raise SystemExit(FAILURES)
            for doubt in results["doubts"]:
                if doubt["invalid"]:
                    console.print(f"in doubt: {doubt['text']}", markup=False, soft_wrap=True)
            step = _build_step(rate, results)
            rate_search.record(step)
            if rate_search.highest_holding == rate or last is None:
                last = results
    if rate_search.steps or not interrupted:
        _print_steps(console, rate_search)
    if last is not None:
        last["search"] = {
            "share": share,
            "highest_rate_per_s": rate_search.highest_holding,
            "steps": [_step_to_json(step, share) for step in rate_search.steps],
        }
        out.mkdir(parents=True, exist_ok=True)
        write_whole_text(out / "results.json", json.dumps(last, ensure_ascii=False, indent=1) + "\n")
        write_whole_text(out / "report.html", render_report(last))
        console.print(f"written: {out}", markup=False, soft_wrap=True)
    if interrupted:
        click.echo(f"Interrupted; rates tried: {len(rate_search.steps)}.", err=True)
        raise SystemExit(INTERRUPTED)
    raise SystemExit(MET if rate_search.highest_holding is not None else MISSED)


def _run_test(
    seconds: float, warm_up: float, arguments: list[str], environment: dict[str, str]
) -> tuple[dict[str, Any] | None, int]:
    """Test one rate; return its results and exit code, or None and the exit code of an error."""
    with tempfile.TemporaryDirectory() as folder:
        code = run_locust(
            [
                *("-f", str(LOCUSTFILE), "--headless", "--loglevel", "WARNING", "--stop-timeout", "0", "--users", "1"),
                *("--seconds", str(seconds), "--warm-up", str(warm_up), "--out", folder),
                *("--run-time", locust_time_limit(seconds + warm_up)),
                *arguments,
            ],
            environment,
            quiet=True,
        )
        if code not in (MET, FAILURES, MISSED, INVALID):
            return None, code
        try:
            return json.loads((Path(folder) / "results.json").read_text(encoding="utf-8")), code
        except OSError:
            return None, INTERNAL_ERROR


def _build_step(rate: float, results: dict[str, Any]) -> RateStep:
    counts, seconds = results["counts"], results["seconds"]
    saturated = is_saturated([second["sent"] for second in seconds], [second["answers"] for second in seconds])
    met = all(objective["met"] for objective in results["objectives"])
    return RateStep(
        rate, counts["requests"] + counts["dropped"], counts["good"], results["rates_per_s"]["goodput"] or 0.0, met,
        saturated, aborted=results["given_up"] is not None,
    )  # fmt: skip


def _step_to_json(step: RateStep, share: float) -> dict[str, Any]:
    return {
        "rate_per_s": step.rate_per_s, "requests": step.requests, "good": step.good,
        "goodput_per_s": step.goodput_per_s, "objectives_met": step.met,
        "saturated": step.saturated, "holds": step.holds(share),
        "given_up": step.aborted,
    }  # fmt: skip


def _print_steps(console: Console, rate_search: RateSearch) -> None:
    table = Table(box=None, pad_edge=False)
    for title in ("rate/s", "requests", "goodput/s", "good (95 %)", "objectives", ""):
        table.add_column(title, justify="right")
    for step in sorted(rate_search.steps, key=lambda step: step.rate_per_s):
        good = f"{wilson_interval(step.good, step.requests)[0]:.1%}"
        verdict = "holds" if step.holds(rate_search.share) else "saturated" if step.saturated else "does not hold"
        verdict = "aborted" if step.aborted else verdict
        table.add_row(
            f"{step.rate_per_s:.4g}",
            str(step.requests),
            f"{step.goodput_per_s:.4g}",
            good,
            "met" if step.met else "missed",
            verdict,
        )
    console.print(table)
    highest = rate_search.highest_holding
    console.print("no rate holds" if highest is None else f"highest rate that holds: {highest:.4g}/s")
