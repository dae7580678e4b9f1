"""The commands of the suite: `chatproof check` and `chatproof checks`.

Exit codes of `check`: 0 conformant, 1 not conformant, 2 usage, 3 unreachable or auth or TLS, 4 budget exhausted,
5 our own error.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from conformance import embedded
from conformance.declaration import assumed
from conformance.errors import HarnessError, Unreachable, UsageError
from conformance.reports import WRITERS, terminal
from conformance.run import Budget
from conformance.secret import Secret
from conformance.session import Wishes, contract_of, draft, prepare_server, refuse_idle_patterns, send
from conformance.verdict import Verdict
from openapi.contract import names

if TYPE_CHECKING:
    from conformance.session import Outcome
    from openapi.contract import Contract

CONFORMANT, NONCONFORMANT, USAGE, UNREACHABLE, EXHAUSTED, OWN_ERROR = range(6)
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
LONGEST_MESSAGE = 2000
EVERY = "all"
TRACEBACK = "CHATPROOF_TRACEBACK"
EMBEDDED_DIALECT = "mindie"


@click.command(name="check", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("url", required=False)
@click.option(
    "--dialect",
    metavar="NAME",
    help=f"Which documented API to judge by; `{EVERY}` for each in turn. Without a URL: {EMBEDDED_DIALECT}.",
)
@click.option("--also", multiple=True, metavar="NAME", help="Judge by this dialect too, in one run. Repeatable.")
@click.option("--model", metavar="NAME", help="Model to ask for. Default: the first that the server lists.")
@click.option("--api-key-env", metavar="VAR", help="Environment variable that holds the API key.")
@click.option("--concurrency", default=4, show_default=True, type=click.IntRange(1, 256), help="Exchanges at a time.")
@click.option(
    "--only", multiple=True, metavar="ID_OR_GLOB", help="Only these checks, requirements or scenarios. Repeatable."
)
@click.option("--capability", "wanted", multiple=True, metavar="NAME", help="Judge this capability too. Repeatable.")
@click.option(
    "--without", "unwanted", multiple=True, metavar="NAME", help="The server lacks this capability. Repeatable."
)
@click.option("--strict", is_flag=True, help="A broken SHOULD fails too.")
@click.option("--dry-run", is_flag=True, help="Show what would be sent, send nothing.")
@click.option("--max-requests", type=click.IntRange(1), metavar="N", help="Send at most so many requests.")
@click.option("--max-time", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Stop after so long.")
@click.option(
    "--timeout",
    default=120.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Most that one exchange may take, all of it.",
)
@click.option("--insecure", is_flag=True, help="Do not verify the server's certificate; the report says so.")
@click.option("--ca-file", type=click.Path(path_type=Path), metavar="FILE", help="Authorities to trust, PEM.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="KIND=PATH",
    help=f"Write a report: {', '.join(WRITERS)}. Repeatable. Always written: json=results.json.",
)
def check(
    url: str | None,
    dialect: str | None,
    also: tuple[str, ...],
    model: str | None,
    api_key_env: str | None,
    concurrency: int,
    only: tuple[str, ...],
    wanted: tuple[str, ...],
    unwanted: tuple[str, ...],
    strict: bool,
    dry_run: bool,
    max_requests: int | None,
    max_time: float | None,
    timeout: float,
    insecure: bool,
    ca_file: Path | None,
    reports: tuple[str, ...],
) -> None:
    """Judge a chat-completions server, or the embedded one when no URL is given.

    The URL may be http://HOST:PORT, carry a path prefix, or be the full endpoint.
    """
    console = Console(highlight=False)
    try:
        if url is not None and dialect is None:
            raise UsageError(f"name the API to judge by with --dialect: {', '.join(sorted(names()))}, or {EVERY}")
        chosen = list(dict.fromkeys(names().values())) if dialect == EVERY else [dialect or EMBEDDED_DIALECT]
        contracts = [contract_of(name) for name in chosen]
        files = _files(reports, [contract.name for contract in contracts])
        secret = _secret(api_key_env)
        capabilities = (*((name, True) for name in wanted), *((name, False) for name in unwanted))
        budget = Budget(max_requests, max_time, timeout, concurrency)
        for contract in contracts:
            refuse_idle_patterns(contract, only)
        codes = []
        for contract in contracts:
            if dry_run:
                _show_plan(contract, only, capabilities, console)
                codes.append(CONFORMANT)
                continue
            with ExitStack() as running:
                address = url
                if address is None:
                    with console.status("starting the embedded reference server"):
                        server = running.enter_context(embedded.serve(contract))
                    address, secret = server.url, Secret(server.key) if server.key else None
                wishes = Wishes(
                    url=address,
                    dialect=contract.name,
                    model=model,
                    only=only,
                    capabilities=capabilities,
                    strict=strict,
                    budget=budget,
                    verify=_verify(insecure, ca_file),
                    also=tuple(contract_of(name).name for name in also),
                )
                outcome = _judge(wishes, secret, console)
            for kind, path in files[contract.name]:
                _write(path, WRITERS[kind](outcome.results))
                console.print(f"[dim]{kind} written to {escape(str(path))}[/dim]")
            codes.append(_code(outcome))
    except UsageError as error:
        _leave(str(error), USAGE)
    except Unreachable as error:
        _leave(str(error), UNREACHABLE)
    except HarnessError as error:
        _leave(str(error), OWN_ERROR)
    except KeyboardInterrupt:
        _leave("interrupted", INTERRUPTED)
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        _leave(f"our own error: {type(error).__name__}: {error} ({TRACEBACK}=1 shows where)", OWN_ERROR)
    if len(codes) > 1 and not dry_run:
        console.print(_summary([contract.name for contract in contracts], codes))
    sys.exit(max(codes, key=lambda code: (code == OWN_ERROR, code == NONCONFORMANT, code)))


def _judge(wishes: Wishes, secret: Secret | None, console: Console) -> Outcome:
    async def judged() -> Outcome:
        prepared = await prepare_server(wishes, secret)
        console.print(terminal.ceiling(prepared), soft_wrap=True)
        with terminal.Live(console, prepared.requests) as live:
            return await send(prepared, secret, live.show)

    outcome = asyncio.run(judged())
    terminal.write(outcome.results, console)
    return outcome


def _code(outcome: Outcome) -> int:
    if any(row.outcome == "ERROR" for row in outcome.report.rows):
        return OWN_ERROR
    if outcome.report.exhausted == "interrupted":
        return INTERRUPTED
    if outcome.report.exhausted:
        return EXHAUSTED
    return CONFORMANT if outcome.report.verdict is Verdict.CONFORMANT else NONCONFORMANT


def _files(reports: tuple[str, ...], dialects: list[str]) -> dict[str, list[tuple[str, Path]]]:
    """Report files per dialect. With several dialects the dialect's name goes before the suffix."""
    wanted: dict[str, Path] = {"json": Path("results.json")}
    for report in reports:
        kind, equals, path = report.partition("=")
        if kind not in WRITERS or not equals or not path:
            raise UsageError(f"--report {report!r}: write KIND=PATH, with KIND one of {', '.join(WRITERS)}")
        wanted[kind] = Path(path)
    for file in wanted.values():
        if not file.parent.is_dir() or not os.access(file.parent, os.W_OK) or file.is_dir():
            raise UsageError(f"cannot write {file}: its folder does not exist or is not yours to write in")
    if len(dialects) == 1:
        return {dialects[0]: list(wanted.items())}
    return {
        name: [(kind, path.with_name(f"{path.stem}.{name}{path.suffix}")) for kind, path in wanted.items()]
        for name in dialects
    }


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _secret(variable: str | None) -> Secret | None:
    if variable is None:
        return None
    value = os.environ.get(variable, "")
    if not value:
        raise UsageError(f"--api-key-env {variable}: the environment has no such variable, or it is empty")
    try:
        return Secret(value)
    except HarnessError as error:
        raise UsageError(f"--api-key-env {variable}: {error}") from error


def _verify(insecure: bool, ca_file: Path | None) -> bool | ssl.SSLContext:
    if insecure:
        return False
    if ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(ca_file))
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"--ca-file {ca_file}: {error}") from error


def _show_plan(
    contract: Contract, only: tuple[str, ...], capabilities: tuple[tuple[str, bool], ...], console: Console
) -> None:
    plan = draft(contract, assumed(contract).overruled(contract, capabilities), only)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("scenario", "requests", "checks", "what is sent"):
        table.add_column(column, overflow="fold")
    for scenario in plan.scenarios:
        judged = sum(assertion.scenario is scenario for assertion in plan.assertions)
        table.add_row(scenario.id, str(len(scenario.steps)), str(judged), escape(scenario.summary))
    console.print(table)
    console.print(
        f"{contract.name}: {len({each.requirement.id for each in plan.assertions})} requirements, "
        f"{plan.requests} requests, at most {plan.tokens} completion tokens; nothing was sent",
        soft_wrap=True,
    )


def _summary(dialects: list[str], codes: list[int]) -> Table:
    words = {CONFORMANT: "[green]conformant[/green]", NONCONFORMANT: "[red]nonconformant[/red]",
             EXHAUSTED: "[yellow]budget exhausted[/yellow]", OWN_ERROR: "[red]error of chatproof[/red]"}  # fmt: skip
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("dialect")
    table.add_column("verdict")
    for name, code in zip(dialects, codes, strict=True):
        table.add_row(name, words.get(code, "[yellow]interrupted[/yellow]"))
    return table


def _leave(message: str, code: int) -> None:
    click.echo(f"chatproof: {terminal.safe(' '.join(message.split()), LONGEST_MESSAGE)}", err=True)
    sys.exit(code)
