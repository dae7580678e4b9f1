"""The commands for recorded runs: `chatproof judge`, `chatproof replay` and `chatproof diff`."""

from __future__ import annotations

import asyncio
import shlex
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from conformance.cli import exit_codes
from conformance.cli.click_options import add_options
from conformance.client import headers
from conformance.judge.applicability import summarize
from conformance.record import BudgetLimits
from conformance.replay import rejudge, resend, verification
from conformance.replay.client_parsers import add_clients
from conformance.report import waivers
from conformance.report.results_file import read_results
from conformance.report.writers import outcome_changes, report_files, terminal
from conformance.report.writers.terminal_text import sanitize
from conformance.run.connection_settings import read_secret, read_verify
from conformance.run.session.target import load_contract
from openapi.console import make_console
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from rich.console import Console

    from conformance.exchange import Exchange

STYLES = {"+": "green", "-": "red", "@": "cyan"}
LONGEST_LINE = 2000
SHOWN = 5
own_dialects = click.option(
    "--dialect",
    "own",
    multiple=True,
    metavar="FILE",
    help="File of a dialect outside chatproof that the run was judged by (repeatable)",
)


@click.command(name="judge", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(path_type=Path))
@own_dialects
@add_options("--only", "--topic")
@click.option(
    "--strict/--no-strict", default=None, help="Fail on a violated SHOULD too, or not (default: as in the recorded run)"
)
@add_options("--waivers", "--clients", "--max-time", "--report")
def judge(
    file: Path,
    own: tuple[str, ...],
    only: tuple[str, ...],
    topics: tuple[str, ...],
    strict: bool | None,
    waiver_file: Path | None,
    clients: bool,
    max_time: float,
    reports: tuple[str, ...],
) -> None:
    """Judge a recorded run (results.json, plain or gzipped) with today's checks. Nothing is sent.

    The exit codes are those of `chatproof check`.
    """
    started_s = time.monotonic()
    console = make_console()
    with exit_codes.report_errors():
        report_options = report_files.parse_options(reports)
        accepted = waivers.read(waiver_file) if waiver_file else ()
        recorded = read_results(file)
        rejudged = rejudge.judge_again(
            recorded,
            strict=strict,
            only=only,
            topics=topics,
            waivers=accepted,
            limits=BudgetLimits(max_time_s=max_time),
            started_s=started_s,
            own=tuple(map(load_contract, own)),
        )
        results = add_clients(rejudged.outcome.results) if clients else rejudged.outcome.results
        written = next((str(path) for kind, path in report_options if kind == "json"), str(file))
        terminal.write(results, console, written)
        for missing, noun in ((rejudged.unrecorded, "scenario"), (rejudged.not_sent, "requirement")):
            if missing:
                some = ", ".join(missing[:SHOWN]) + (", ..." if len(missing) > SHOWN else "")
                number = format_quantity(len(missing), noun)
                sent = _describe_selection(recorded["run"])
                console.print(Text(f"not part of the recorded run{sent}, so not judged: {number} ({some})", "yellow"))
        report_files.write_reports(report_options, results, console)
        exit_codes.print_own_errors(rejudged.outcome)
        code = exit_codes.exit_code(rejudged.outcome)
    sys.exit(code)


def _describe_selection(run: dict[str, Any]) -> str:
    """Return the options that limited what a recorded run sent, in parentheses; empty if none did."""
    options = [f"--only {shlex.quote(pattern)}" for pattern in run.get("only", ())]
    options += [f"--topic {topic}" for topic in run.get("topics", ())]
    options += [f"--depth {run['depth']}"] if run.get("depth", "standard") != "standard" else []
    return f" ({sanitize(' '.join(options))})" if options else ""


@click.command(name="replay", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--id",
    "identity",
    required=True,
    metavar="ID",
    help="Exchange to send, or the requirement whose first finding to repeat, or a scenario",
)
@own_dialects
@add_options("--api-key-env", "--header", "--header-env", "--timeout", "--insecure", "--ca-file")
def replay_one(
    file: Path,
    own: tuple[str, ...],
    identity: str,
    api_key_env: str | None,
    plain_headers: tuple[str, ...],
    secret_headers: tuple[str, ...],
    timeout: float,
    insecure: bool,
    ca_file: Path | None,
) -> None:
    """Send requests of a recorded run again, and judge whether their findings are fixed.

    A finding that compares several answers is repeated with all of their requests. Exit codes: 0 if every finding is
    fixed, or if nothing failed; 1 if a requirement still fails, or fails now; 3 if the server is unreachable. A
    violated SHOULD counts if the recorded run was strict, or if ID is its requirement.
    """
    console = make_console()
    with exit_codes.report_errors():
        results = read_results(file)
        runs = rejudge.rebuild(results, own=tuple(map(load_contract, own)))
        before = verification.select_exchanges(results, runs, identity)
        secret = read_secret(api_key_env)
        given = headers.read(plain_headers, secret_headers)
        verify = read_verify(insecure, ca_file)
        scenario = verification.find_scenario(runs, before[0])
        connection = scenario.id if scenario is not None and scenario.one_connection else None
        calls = [
            replace(
                resend.build_call(exchange, with_key=secret is not None, deadline_s=timeout, given=given),
                connection_name=connection,
            )
            for exchange in before
        ]
        together = scenario is not None and scenario.together
        with console.status(f"sending {format_quantity(len(calls), 'request')}"):
            after = asyncio.run(resend.send_calls(calls, secret, given, verify, together=together))
        for then, now in zip(before, after, strict=True):
            _show_answers(then, now, console, complete=len(before) == 1)
        requirement = None if identity in (before[0].scenario, *(exchange.id for exchange in before)) else identity
        verified = verification.verify(runs, {exchange.id: exchange for exchange in after}, requirement)
        strict = results["run"]["strict"] or requirement is not None
        failing = [item for item in verified if item.fails(strict=strict)]
        for item in verified:
            line = f"{item.state}: {item.keyword} {item.id}: {item.reason}"
            style = "green" if item.state == verification.FIXED else "red" if item in failing else "yellow"
            console.print(Text(sanitize(line, LONGEST_LINE), style), soft_wrap=True)
        counts = Counter(item.state for item in verified)
        summary = ", ".join(f"{counts[state]} {state}" for state in verification.STATES if counts[state])
        console.print(summary or "the recorded answers violate no requirement, and neither do the new ones")
    sys.exit(exit_codes.NONCONFORMANT if failing else exit_codes.CONFORMANT)


def _show_answers(then: Exchange, now: Exchange, console: Console, *, complete: bool) -> None:
    """Print both answers to a request; with `complete` also how their contents differ."""
    console.print(Text(then.id, "bold"), soft_wrap=True)
    for label, exchange in (("then", then), ("now", now)):
        console.print(Text(f"{label:<5}{sanitize(summarize(exchange))}"), soft_wrap=True)
    lines = resend.compare_answers(then, now).lines
    for line in lines if complete else ():
        style = STYLES.get(line[:1], "dim")
        console.print(Text(sanitize(line, LONGEST_LINE), style), soft_wrap=True)
    console.print("the answers differ" if lines else "the answers are equal", style="dim")


@click.command(name="diff", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option("--allow-lost", is_flag=True, help="Do not fail for requirements that are no longer judged")
def diff_results(before: Path, after: Path, allow_lost: bool) -> None:
    """Show which outcomes differ between two results files.

    A requirement is lost if the first run judged it and the second one did not. Exit codes: 1 if a requirement got
    worse or was lost, otherwise 0.
    """
    console = make_console()
    with exit_codes.report_errors():
        changes = list(outcome_changes.compare_results(read_results(before), read_results(after)))
        counts = Counter(change.kind for change in changes)
        for table in outcome_changes.make_tables(changes, console.width):
            console.print(table)
        worse, lost, better = (
            counts[outcome_changes.WORSE],
            counts[outcome_changes.LOST],
            counts[outcome_changes.BETTER],
        )
        allowed = " (allowed)" if lost and allow_lost else ""
        console.print(f"{worse} worse, {lost} no longer judged{allowed}, {better} better, {len(changes)} changed")
    sys.exit(exit_codes.NONCONFORMANT if worse or (lost and not allow_lost) else exit_codes.CONFORMANT)
