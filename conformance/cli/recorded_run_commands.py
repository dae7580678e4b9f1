"""The commands for recorded runs: `chatproof judge`, `chatproof replay` and `chatproof diff`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from conformance.cli import exit_codes
from conformance.cli.click_options import add_options
from conformance.client import headers
from conformance.client.client import Client
from conformance.errors import Unreachable
from conformance.judge.applicability import summarize
from conformance.replay import rejudge, resend
from conformance.replay.client_parsers import add_clients
from conformance.report import waivers
from conformance.report.results_file import read_results
from conformance.report.writers import outcome_changes, report_files, terminal
from conformance.run.connection_settings import read_secret, read_verify
from openapi.console import make_console

if TYPE_CHECKING:
    from conformance.exchange import Exchange

STYLES = {"+": "green", "-": "red", "@": "cyan"}
LONGEST_LINE = 2000
SHOWN_SCENARIOS = 5


@click.command(name="judge", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(path_type=Path))
@add_options("--only", "--topic")
@click.option(
    "--strict/--no-strict", default=None, help="Fail on a violated SHOULD too, or not (default: as in the recorded run)"
)
@add_options("--waivers", "--clients", "--report")
def judge(
    file: Path,
    only: tuple[str, ...],
    topics: tuple[str, ...],
    strict: bool | None,
    waiver_file: Path | None,
    clients: bool,
    reports: tuple[str, ...],
) -> None:
    """Judge a recorded run (results.json, plain or gzipped) with today's checks. Nothing is sent.

    The exit codes are those of `chatproof check`.
    """
    console = make_console()
    with exit_codes.report_errors():
        report_options = report_files.parse_options(reports)
        accepted = waivers.read(waiver_file) if waiver_file else ()
        rejudged = rejudge.judge_again(read_results(file), strict=strict, only=only, topics=topics, waivers=accepted)
        results = add_clients(rejudged.outcome.results) if clients else rejudged.outcome.results
        terminal.write(results, console)
        if missing := rejudged.unrecorded:
            some = ", ".join(missing[:SHOWN_SCENARIOS]) + (", ..." if len(missing) > SHOWN_SCENARIOS else "")
            console.print(f"not judged because the record does not contain them: {len(missing)} scenarios ({some})")
        report_files.write_reports(report_options, results, console)
        code = exit_codes.exit_code(rejudged.outcome)
    sys.exit(code)


@click.command(name="replay", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--id",
    "identity",
    required=True,
    metavar="ID",
    help="Exchange to send, or the requirement whose first finding to repeat, or a scenario",
)
@add_options("--api-key-env", "--header", "--header-env", "--timeout", "--insecure", "--ca-file")
def replay_one(
    file: Path,
    identity: str,
    api_key_env: str | None,
    plain_headers: tuple[str, ...],
    secret_headers: tuple[str, ...],
    timeout: float,
    insecure: bool,
    ca_file: Path | None,
) -> None:
    """Send one request of a recorded run again and compare the answers.

    Exit codes: 0 if the answers are equal, 1 if they differ.
    """
    console = make_console()
    with exit_codes.report_errors():
        before = resend.find_exchange(read_results(file), identity)
        secret = read_secret(api_key_env)
        given = headers.read(plain_headers, secret_headers)
        call = resend.build_call(before, with_key=secret is not None, deadline_s=timeout, given=given)
        verify = read_verify(insecure, ca_file)

        async def send() -> Exchange:
            async with Client(call.url, secret, headers=given, verify=verify) as client:
                return await client.send(call)

        after = asyncio.run(send())
        if after.response is None and after.failure is not None and after.failure.kind in ("connect", "tls"):
            raise Unreachable(after.failure.detail)
        for label, exchange in (("then", before), ("now", after)):
            console.print(Text(f"{label:<5}{terminal.sanitize(summarize(exchange))}"), soft_wrap=True)
        lines = resend.compare_answers(before, after).lines
        for line in lines:
            style = STYLES.get(line[:1], "dim")
            console.print(Text(terminal.sanitize(line, LONGEST_LINE), style), soft_wrap=True)
        console.print("the answers differ" if lines else "the answers are equal")
    sys.exit(exit_codes.NONCONFORMANT if lines else exit_codes.CONFORMANT)


@click.command(name="diff", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
def diff_results(before: Path, after: Path) -> None:
    """Show which outcomes differ between two results files.

    Exit codes: 1 if a requirement got worse, otherwise 0.
    """
    console = make_console()
    with exit_codes.report_errors():
        changes = list(outcome_changes.compare_results(read_results(before), read_results(after)))
        worse, better = (
            sum(change.kind == kind for change in changes) for kind in (outcome_changes.WORSE, outcome_changes.BETTER)
        )
        if changes:
            console.print(outcome_changes.make_table(changes))
        console.print(f"{worse} worse, {better} better, {len(changes)} changed")
    sys.exit(exit_codes.NONCONFORMANT if worse else exit_codes.CONFORMANT)
