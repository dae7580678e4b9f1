"""`chatproof load search`: the highest rate whose objectives hold, and the curve of goodput by rate."""

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

from loadtests.cli.load_command import (
    INTERRUPTED,
    LOCUSTFILE,
    OUT,
    SOMEWHERE,
    Duration,
    check,
    given,
    most_time,
    our_options,
    passed_on,
    reach,
    run,
    target,
    waiting_option,
)
from loadtests.cli.rate_search import Search, Step, requests_needed, saturated, wilson_lower
from loadtests.report import html as page
from loadtests.report.results import FAILURES, INVALID, MET, MISSED, OWN_ERROR
from loadtests.secret import plain

if TYPE_CHECKING:
    from loadtests.cli.load_command import Embedder


@click.command(name="search", context_settings={"help_option_names": ["-h", "--help"], "ignore_unknown_options": True})
@click.argument("url", required=False)
@click.option(
    "--from",
    "first",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="First rate, per second.",
)
@click.option(
    "--to",
    "most",
    default=1000.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Highest rate to try.",
)
@click.option(
    "--share",
    default=0.95,
    show_default=True,
    type=click.FloatRange(0.5, 0.999),
    help="Share of answers that must be good, by Wilson's lower bound.",
)
@click.option(
    "--precision", default=0.1, show_default=True, type=click.FloatRange(0.01, 1), help="How closely to find it."
)
@click.option(
    "--time",
    "seconds",
    default="20s",
    show_default=True,
    type=Duration(positive=True),
    help="Measured time of each rate; longer where the share needs more requests.",
)
@click.option("--warm-up", default="2s", show_default=True, type=Duration(), help="Time before it, not measured.")
@waiting_option
@our_options
@click.argument("more", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def search(embedded: Embedder | None, /, url: str | None, first: float, most: float, share: float, precision: float,
           seconds: float, warm_up: float, wait: float, more: tuple[str, ...], **ours: Any) -> None:  # fmt: skip
    """Find the highest rate at which the objectives hold: doubled until they do not, then halved towards it."""
    if not ours["objective"]:
        raise click.UsageError("name what must hold with --objective, for example ttft_p95=300ms")
    if ours["rate"] is not None or ours["trace"] or ours["shape"] != "steady":
        raise click.UsageError("a search chooses the rate and keeps it: leave out --rate, --trace and --shape")
    if first > most:
        raise click.UsageError(f"--from {first:g} is above --to {most:g}")
    url, more = passed_on(url, more)
    values = {
        **ours,
        "rate": first,
        "seconds": seconds,
        "warm_up": warm_up,
        "num_users": 1,
        "host": SOMEWHERE if url is None else url,
    }
    check(values)
    if url is not None:
        reach(url, values, wait, more)
    out = Path(ours.pop("out") or OUT)
    console = Console(highlight=False)
    looked = Search(first, most, share, precision)
    last: dict[str, Any] | None = None
    ended = False
    with ExitStack() as stack:
        environment = dict(os.environ)
        address = target(stack, embedded, url, ours["dialect"], environment)
        while (rate := looked.next_rate()) is not None:
            time_s = max(seconds, math.ceil(requests_needed(share) * 1.2 / rate))
            console.print(f"{rate:.4g}/s for {time_s:g} s")
            made, code = _try(
                time_s, warm_up, [*address, *given({**ours, "rate": rate, "out": None}), *more], environment
            )
            if ended := code == INTERRUPTED:
                break
            if made is None:
                raise SystemExit(code)
            if made["failures"] and made["counts"]["failures"] == made["counts"]["requests"]:
                why = made["failures"][0]
                words = (
                    f"not one of {made['counts']['requests']} requests succeeded: {why['kind']}: {plain(why['first'])}"
                )
                console.print(words, markup=False, soft_wrap=True)
                if looked.holding is None:  # a lower rate would not help
                    raise SystemExit(FAILURES)
            for doubt in made["doubts"]:
                if doubt["invalid"]:
                    console.print(f"in doubt: {doubt['text']}", markup=False, soft_wrap=True)
            step = _step(rate, made)
            looked.note(step)
            if looked.holding == rate or last is None:
                last = made
    if looked.steps or not ended:
        _print(console, looked)
    if last is not None:
        last["search"] = {
            "share": share,
            "highest_rate_per_s": looked.holding,
            "steps": [_plain(each, share) for each in looked.steps],
        }
        out.mkdir(parents=True, exist_ok=True)
        (out / "results.json").write_text(json.dumps(last, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        (out / "report.html").write_text(page.page(last), encoding="utf-8")
        console.print(f"written to {out}", markup=False, soft_wrap=True)
    if ended:
        click.echo(f"Interrupted; rates tried: {len(looked.steps)}.", err=True)
        raise SystemExit(INTERRUPTED)
    raise SystemExit(MET if looked.holding is not None else MISSED)


def _try(
    seconds: float, warm_up: float, arguments: list[str], environment: dict[str, str]
) -> tuple[dict[str, Any] | None, int]:
    """One rate: its results, or None and the exit code of what went wrong on our side."""
    with tempfile.TemporaryDirectory() as folder:
        code = run(
            [
                *("-f", str(LOCUSTFILE), "--headless", "--loglevel", "WARNING", "--stop-timeout", "0", "--users", "1"),
                *("--seconds", str(seconds), "--warm-up", str(warm_up), "--out", folder),
                *("--run-time", most_time(seconds + warm_up)),
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
            return None, OWN_ERROR


def _step(rate: float, made: dict[str, Any]) -> Step:
    counts, seconds = made["counts"], made["seconds"]
    behind = saturated([second["sent"] for second in seconds], [second["answers"] for second in seconds])
    met = all(objective["met"] for objective in made["objectives"])
    return Step(
        rate, counts["requests"] + counts["dropped"], counts["good"], made["rates_per_s"]["goodput"] or 0.0, met,
        behind, given_up=made["given_up"] is not None,
    )  # fmt: skip


def _plain(step: Step, share: float) -> dict[str, Any]:
    return {
        "rate_per_s": step.rate_per_s, "requests": step.requests, "good": step.good,
        "goodput_per_s": step.goodput_per_s, "objectives_met": step.met,
        "saturated": step.saturated, "holds": step.holds(share),
        "given_up": step.given_up,
    }  # fmt: skip


def _print(console: Console, looked: Search) -> None:
    table = Table(box=None, pad_edge=False)
    for title in ("rate/s", "requests", "goodput/s", "surely good", "objectives", ""):
        table.add_column(title, justify="right")
    for each in sorted(looked.steps, key=lambda step: step.rate_per_s):
        surely = f"{wilson_lower(each.good, each.requests):.1%}"
        words = "holds" if each.holds(looked.share) else "saturated" if each.saturated else "does not hold"
        words = "given up" if each.given_up else words
        table.add_row(
            f"{each.rate_per_s:.4g}",
            str(each.requests),
            f"{each.goodput_per_s:.4g}",
            surely,
            "met" if each.met else "missed",
            words,
        )
    console.print(table)
    found = looked.holding
    console.print(f"highest rate that holds: {found:.4g}/s" if found is not None else "no rate was found that holds")
