"""The commands over a recorded run: `chatproof judge` and `chatproof replay`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from conformance.cli import exit_codes as exits
from conformance.client import headers
from conformance.client.client import Client
from conformance.errors import Unreachable
from conformance.judge.applicability import shown
from conformance.replay import rejudge as offline
from conformance.replay import resend as replay
from conformance.replay.client_parsers import with_clients
from conformance.report import waivers
from conformance.report.writers import WRITERS, diff, terminal
from conformance.report.writers import report_files as files
from conformance.run.connection_settings import read_secret, read_verify
from openapi.console import screen

if TYPE_CHECKING:
    from conformance.exchange import Exchange

STYLES = {"+": "green", "-": "red", "@": "cyan"}


@click.command(name="judge", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, metavar="ID_OR_GLOB", help="Only these checks, requirements or scenarios.")
@click.option("--topic", "topics", multiple=True, metavar="NAME", help="Only checks of this topic. Repeatable.")
@click.option("--strict/--no-strict", default=None, help="A broken SHOULD fails too. Default: as the run was judged.")
@click.option("--waivers", "waiver_file", type=click.Path(path_type=Path), metavar="FILE", help="As for check.")
@click.option("--clients", is_flag=True, help="Play the answers to real clients that are installed.")
@click.option(
    "--report", "reports", multiple=True, metavar="KIND=PATH", help=f"Write a report: {', '.join(WRITERS)}. Repeatable."
)
def judge(
    file: Path,
    only: tuple[str, ...],
    topics: tuple[str, ...],
    strict: bool | None,
    waiver_file: Path | None,
    clients: bool,
    reports: tuple[str, ...],
) -> None:
    """Judge a recorded run (results.json, plain or gzipped) by today's checks, and send nothing.

    Exit codes are those of check.
    """
    console = screen()
    with exits.told():
        asked = files.read(reports)
        waived = waivers.read(waiver_file) if waiver_file else ()
        again = offline.judge_again(offline.read(file), strict=strict, only=only, topics=topics, waivers=waived)
        results = with_clients(again.outcome.results) if clients else again.outcome.results
        terminal.write(results, console)
        if again.unrecorded:
            some = ", ".join(again.unrecorded[:5]) + (", ..." if len(again.unrecorded) > 5 else "")
            console.print(f"not in the record, and so not judged: {len(again.unrecorded)} scenarios ({some})")
        files.save(asked, results, console)
        code = exits.code_of(again.outcome)
    sys.exit(code)


@click.command(name="replay", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--id", "identity", required=True, metavar="ID", help="An exchange, or a requirement: then its first finding."
)
@click.option("--api-key-env", metavar="VAR", help="Environment variable that holds the API key.")
@click.option("--header", "-H", "plain_headers", multiple=True, metavar="'NAME: VALUE'", help="As for check.")
@click.option("--header-env", "secret_headers", multiple=True, metavar="NAME=VAR", help="As for check.")
@click.option("--timeout", default=120.0, show_default=True, type=click.FloatRange(min=0, min_open=True))
@click.option("--insecure", is_flag=True, help="Do not verify the server's certificate.")
@click.option("--ca-file", type=click.Path(path_type=Path), metavar="FILE", help="Authorities to trust, PEM.")
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
    """Send one exchange of a recorded run again and show what differs.

    Exits with 0 when the answers say the same, with 1 when they differ.
    """
    console = screen()
    with exits.told():
        then = replay.choose(offline.read(file), identity)
        secret = read_secret(api_key_env)
        given = headers.read(plain_headers, secret_headers)
        call = replay.call_of(then, with_key=secret is not None, deadline_s=timeout, given=given)
        verify = read_verify(insecure, ca_file)

        async def send() -> Exchange:
            async with Client(call.url, secret, headers=given, verify=verify) as client:
                return await client.send(call)

        now = asyncio.run(send())
        if now.response is None and now.failure is not None and now.failure.kind in ("connect", "tls"):
            raise Unreachable(now.failure.detail)
        for label, exchange in (("then", then), ("now", now)):
            console.print(Text(f"{label:<5}{terminal.safe(shown(exchange))}"), soft_wrap=True)
        lines = replay.difference(then, now).lines
        for line in lines:
            console.print(Text(terminal.safe(line, 2000), STYLES.get(line[:1], "dim")), soft_wrap=True)
        console.print("the answers differ" if lines else "the answers say the same")
    sys.exit(exits.NONCONFORMANT if lines else exits.CONFORMANT)


@click.command(name="diff", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
def diff_results(before: Path, after: Path) -> None:
    """What moved between two results files. Exits with 1 when something got worse."""
    console = screen()
    with exits.told():
        rows = list(diff.moved(offline.read(before), offline.read(after)))
        if rows:
            console.print(diff.table(rows))
        counts = ", ".join(f"{sum(row.kind == kind for row in rows)} {kind}" for kind in (diff.WORSE, diff.BETTER))
        console.print(f"{counts}, {len(rows)} moved")
    sys.exit(exits.NONCONFORMANT if any(row.kind == diff.WORSE for row in rows) else exits.CONFORMANT)
