"""The command of the suite: `chatproof check`. Its exit codes are those of `exits.py`: 0 conformant, 1 not
conformant, 2 usage, 3 unreachable or auth or TLS, 4 budget exhausted, 5 our own error, 130 interrupted.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.table import Table

from conformance.cli import capability_option
from conformance.cli import exit_codes as exits
from conformance.cli.pytest_options import DEFAULT_DIALECT, MAX_REQUESTS, MAX_TIME_S, MAX_TOKENS
from conformance.client import headers
from conformance.client.secret import Secret
from conformance.errors import UsageError
from conformance.plan.capabilities import assumed
from conformance.plan.scenarios.schemathesis_cases import Draw, refuse_seedless
from conformance.replay.client_parsers import with_clients
from conformance.report import waivers
from conformance.report.writers import WRITERS, preview, terminal
from conformance.report.writers import report_files as files
from conformance.run import embedded_server as embedded
from conformance.run.connection_settings import read_secret, read_verify
from conformance.run.run import Budget
from conformance.run.session import (
    Wishes,
    contract_of,
    draft,
    prepare_server,
    refuse_idle_patterns,
    refuse_idle_waivers,
    send,
)
from openapi.console import screen
from openapi.contract.contract import names

if TYPE_CHECKING:
    from rich.console import Console

    from conformance.run.session import Outcome
    from openapi.contract.contract import Contract

EVERY = "all"


@click.command(name="check", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("url", required=False)
@click.option(
    "--dialect",
    metavar="NAME",
    help=f"Which documented API to judge by; `{EVERY}` for each in turn. Without a URL: {DEFAULT_DIALECT}.",
)
@click.option("--also", multiple=True, metavar="NAME", help="Judge by this dialect too, in one run. Repeatable.")
@click.option("--model", metavar="NAME", help="Model to ask for. Default: the first that the server lists.")
@click.option("--api-key-env", metavar="VAR", help="Environment variable that holds the API key.")
@click.option(
    "--header",
    "-H",
    "plain_headers",
    multiple=True,
    metavar="'NAME: VALUE'",
    help="Sent with every request, as to a gateway; shown in reports. Repeatable.",
)
@click.option(
    "--header-env",
    "secret_headers",
    multiple=True,
    metavar="NAME=VAR",
    help="The same with the value of an environment variable, as secret as the key. Repeatable.",
)
@click.option(
    "--concurrency",
    default=4,
    show_default=True,
    type=click.IntRange(1, 256),
    help="Exchanges at a time. What tests parallel clients sends its requests together even where they are more.",
)
@click.option(
    "--only", multiple=True, metavar="ID_OR_GLOB", help="Only these checks, requirements or scenarios. Repeatable."
)
@click.option("--topic", "topics", multiple=True, metavar="NAME", help="Only checks of this topic. Repeatable.")
@click.option(
    "--coverage",
    default=0,
    type=click.IntRange(0),
    metavar="N",
    help="Also send N of the cases that schemathesis makes of the description, the same in every run.",
)
@click.option("--fuzz", default=0, type=click.IntRange(0), metavar="N", help="Also send N requests drawn by chance.")
@click.option("--seed", type=click.IntRange(0), metavar="S", help="What chance follows from. Default: 0.")
@click.option(
    "--capability",
    "capabilities",
    multiple=True,
    metavar="+X,-Y",
    help="The server has X and lacks Y, whatever the dialect and the server say. Repeatable.",
)
@click.option("--strict", is_flag=True, help="A broken SHOULD fails too.")
@click.option(
    "--waivers",
    "waiver_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Failures that somebody answers for: a YAML list of id, reason, owner, expires.",
)
@click.option("--list", "list_only", is_flag=True, help="Show what would be judged, send nothing.")
@click.option("--dry-run", is_flag=True, help="Show every request and what the plan can cost, send nothing.")
@click.option(
    "--max-requests",
    default=MAX_REQUESTS,
    show_default=True,
    type=click.IntRange(1),
    metavar="N",
    help="Requests at most.",
)
@click.option(
    "--max-tokens",
    default=MAX_TOKENS,
    show_default=True,
    type=click.IntRange(1),
    metavar="N",
    help="Tokens at most, as the server reports them.",
)
@click.option(
    "--max-time",
    default=MAX_TIME_S,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop after so long.",
)
@click.option(
    "--rate", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Requests a second at most. No limit else."
)
@click.option(
    "--timeout",
    default=120.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Most that one exchange may take, all of it.",
)
@click.option(
    "--wait",
    default=0.0,
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Wait so long for a server that is still starting.",
)
@click.option("--insecure", is_flag=True, help="Do not verify the server's certificate; the report says so.")
@click.option("--ca-file", type=click.Path(path_type=Path), metavar="FILE", help="Authorities to trust, PEM.")
@click.option("--clients", is_flag=True, help="Play the answers to real clients that are installed; no verdict.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="KIND=PATH",
    help=f"Write a report: {', '.join(WRITERS)}. Repeatable. json=results.json where no json is named.",
)
def check(
    url: str | None,
    dialect: str | None,
    also: tuple[str, ...],
    model: str | None,
    api_key_env: str | None,
    plain_headers: tuple[str, ...],
    secret_headers: tuple[str, ...],
    concurrency: int,
    only: tuple[str, ...],
    topics: tuple[str, ...],
    coverage: int,
    fuzz: int,
    seed: int | None,
    capabilities: tuple[str, ...],
    strict: bool,
    waiver_file: Path | None,
    list_only: bool,
    dry_run: bool,
    max_requests: int,
    max_tokens: int,
    max_time: float,
    rate: float | None,
    timeout: float,
    wait: float,
    insecure: bool,
    ca_file: Path | None,
    clients: bool,
    reports: tuple[str, ...],
) -> None:
    """Judge a chat-completions server, or the embedded one when no URL is given.

    The URL may be http://HOST:PORT, carry a path prefix, or be the full endpoint.
    """
    console = screen()
    with exits.told():
        refuse_seedless(fuzz, seed)
        if url is not None and dialect is None:
            raise UsageError(f"name the API to judge by with --dialect: {', '.join(sorted(names()))}, or {EVERY}")
        chosen = list(dict.fromkeys(names().values())) if dialect == EVERY else [dialect or DEFAULT_DIALECT]
        contracts = [contract_of(name) for name in chosen]
        asked = files.read(reports, (("json", files.RESULTS),))
        written = _named(asked, [contract.name for contract in contracts])
        secret = read_secret(api_key_env)
        wishes = Wishes(
            url=url or "",
            dialect=contracts[0].name,
            model=model,
            only=only,
            topics=topics,
            draw=Draw(coverage, fuzz, seed or 0),
            capabilities=capability_option.read(capabilities),
            strict=strict,
            budget=Budget(max_requests, max_tokens, max_time, rate, timeout, concurrency),
            verify=read_verify(insecure, ca_file),
            also=tuple(contract_of(name, "--also").name for name in also),
            waivers=waivers.read(waiver_file) if waiver_file else (),
            wait_s=wait,
            headers=headers.read(plain_headers, secret_headers),
        )
        for contract in contracts:
            refuse_idle_patterns(contract, only, topics, wishes.draw)
            assumed(contract).overruled(contract, wishes.capabilities)  # refuses a name before a server is started
        refuse_idle_waivers(wishes.waivers, (*contracts, *map(contract_of, wishes.also)))
        codes = []
        for contract in contracts:
            wishes = replace(wishes, dialect=contract.name)
            if list_only or dry_run:
                _show_plan(wishes, contract, console, requests=dry_run)
                codes.append(exits.CONFORMANT)
                continue
            with ExitStack() as running:
                if url is None:
                    with console.status("starting the embedded reference server"):
                        server = running.enter_context(embedded.serve(contract))
                    wishes, secret = replace(wishes, url=server.url), Secret(server.key) if server.key else None
                outcome = _judge(wishes, secret, console, clients=clients)
            files.save(written[contract.name], outcome.results, console)
            codes.append(exits.code_of(outcome))
    if len(codes) > 1 and not (dry_run or list_only):
        console.print(_summary([contract.name for contract in contracts], codes))
    sys.exit(exits.worst(codes))


def _judge(wishes: Wishes, secret: Secret | None, console: Console, *, clients: bool) -> Outcome:
    async def judged() -> Outcome:
        with console.status(f"asking {escape(wishes.url)} for its models"):
            prepared = await prepare_server(wishes, secret)
        console.print(terminal.ceiling(prepared), soft_wrap=True)
        with terminal.Live(console, prepared.requests) as live:
            return await send(prepared, secret, live.show)

    outcome = asyncio.run(judged())
    if clients:
        outcome = replace(outcome, results=with_clients(outcome.results))
    terminal.write(outcome.results, console)
    return outcome


def _named(asked: list[tuple[str, Path]], dialects: list[str]) -> dict[str, list[tuple[str, Path]]]:
    """Report files per dialect. With several dialects the dialect's name goes before the suffix."""
    if len(dialects) == 1:
        return {dialects[0]: asked}
    return {
        name: [(kind, path.with_name(f"{path.stem}.{name}{path.suffix}")) for kind, path in asked] for name in dialects
    }


def _show_plan(wishes: Wishes, contract: Contract, console: Console, *, requests: bool) -> None:
    """What would be judged or sent, of a server that says nothing of itself."""
    declaration = assumed(contract).overruled(contract, wishes.capabilities)
    plan = draft(contract, declaration, wishes.only, wishes.topics, wishes.draw)
    model = wishes.model or contract.default_model
    console.print(preview.requests(plan, contract, model) if requests else preview.listing(plan))
    if wishes.headers:
        console.print(preview.every(wishes.headers), soft_wrap=True)
    console.print(f"{preview.ceilings(plan, contract, wishes.budget)}; nothing was sent", soft_wrap=True)


def _summary(dialects: list[str], codes: list[int]) -> Table:
    words = {
        exits.CONFORMANT: "[green]conformant[/green]",
        exits.NONCONFORMANT: "[red]nonconformant[/red]",
        exits.EXHAUSTED: "[yellow]budget exhausted[/yellow]",
        exits.OWN_ERROR: "[red]error of chatproof[/red]",
    }
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("dialect")
    table.add_column("verdict")
    for name, code in zip(dialects, codes, strict=True):
        table.add_row(name, words.get(code, "[yellow]interrupted[/yellow]"))
    return table
