"""`chatproof check`: judge a server, or show what a run would judge or send."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import click
from rich.table import Table

from conformance.cli import capability_option, exit_codes
from conformance.cli.check_run import failed_before, judge_server
from conformance.cli.click_options import add_options
from conformance.cli.comparison.second_server import compare_with, read_second_server
from conformance.cli.guidance.restart_hint import print_restart_hint
from conformance.cli.options import DEFAULT_DIALECT, EVERY_DIALECT
from conformance.client import headers
from conformance.client.secret import Secret
from conformance.errors import Unreachable, UsageError
from conformance.plan.capabilities import default_capabilities
from conformance.plan.scenarios.schemathesis_cases import Draw, require_fuzz_for_seed
from conformance.record import BudgetLimits
from conformance.report import waivers
from conformance.report.writers import plan_preview, report_files
from conformance.run import embedded_server
from conformance.run.connection_settings import read_media_path, read_secret, read_verify, shell_variable
from conformance.run.drafting import draft, keep_known, require_matching_patterns, require_matching_waivers
from conformance.run.session.conclusion import describe_unreachable
from conformance.run.session.options import RunOptions
from conformance.run.session.target import load_contract
from openapi.console import make_console
from openapi.contract.contract import describe_missing, names

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from conformance.plan.depth import Depth
    from openapi.contract.contract import Contract


@click.command(name="check", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("url", required=False)
@add_options(
    "--dialect", "--also", "--against", "--model", "--api-key-env", "--header", "--header-env", "--concurrency",
    "--only", "--topic", "--last-failed", "--fail-fast", "--depth", "--coverage", "--fuzz", "--seed", "--capability",
    "--media-host", "--media-path", "--strict", "--waivers", "--list", "--dry-run", "--max-requests", "--max-tokens",
    "--max-time", "--rate", "--timeout", "--wait", "--insecure", "--ca-file", "--clients", "--annotate", "--report",
)  # fmt: skip
def check(
    url: str | None,
    dialect: str | None,
    also: tuple[str, ...],
    against: str | None,
    model: str | None,
    api_key_env: str | None,
    plain_headers: tuple[str, ...],
    secret_headers: tuple[str, ...],
    concurrency: int,
    only: tuple[str, ...],
    topics: tuple[str, ...],
    last_failed: bool,
    fail_fast: bool,
    depth: Depth,
    coverage: int,
    fuzz: int,
    seed: int | None,
    capabilities: tuple[str, ...],
    media_host: str | None,
    media_path: str | None,
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
    annotate: str | None,
    reports: tuple[str, ...],
) -> None:
    """Judge a chat-completions server, or the embedded server if no URL is given.

    The URL is http://HOST:PORT, with a path prefix if the server has one, or the full endpoint. The results are written
    to results.json unless --report names another json file. If nothing was exchanged, results.json is left as it is,
    and only the reports that --report names are written.

    Exit codes: 0 conformant, 1 not conformant, 2 usage error, 3 unreachable, wrong URL or model, API key refused or TLS
    failure, 4 no verdict: budget exhausted, no chat completion received or nothing judged, 5 internal error, 130
    interrupted.
    """
    started_s = time.monotonic()
    console = make_console()
    with exit_codes.report_errors():
        require_fuzz_for_seed(fuzz, seed)
        if url is not None and dialect is None:
            raise UsageError(describe_missing())
        chosen = list(dict.fromkeys(names().values())) if dialect == EVERY_DIALECT else [dialect or DEFAULT_DIALECT]
        contracts = [load_contract(name) for name in chosen]
        report_options = report_files.parse_options(reports, (("json", report_files.RESULTS),))
        dialects = [contract.name for contract in contracts]
        files = _name_files(report_options, dialects)
        requested = _name_files(report_files.parse_options(reports), dialects)
        draw = Draw(coverage, fuzz, seed or 0)
        if last_failed:
            failed = failed_before(files, only, topics)
            if not failed:
                console.print("no requirement failed in the run before; nothing was sent")
                sys.exit(exit_codes.CONFORMANT)
            only = keep_known(contracts[0], failed, draw)
            if not only:
                raise UsageError(f"--last-failed: only a whole run shows {', '.join(failed)}: run without the option")
        secret = read_secret(api_key_env)
        options = RunOptions(
            url=url or "",
            dialect=contracts[0].location,
            model=model,
            only=only,
            topics=topics,
            depth=depth,
            draw=draw,
            capabilities=capability_option.parse(capabilities),
            strict=strict,
            budget=BudgetLimits(max_requests, max_tokens, max_time, rate, timeout, concurrency),
            verify=read_verify(insecure, ca_file),
            also=tuple(load_contract(name, "--also").location for name in also),
            waivers=waivers.read(waiver_file) if waiver_file else (),
            wait_s=wait,
            headers=headers.read(plain_headers, secret_headers),
            media_host=media_host,
            media_path=read_media_path(media_path),
            started_s=started_s,
            key_variable=shell_variable(api_key_env),
            annotate=annotate,
        )
        for contract in contracts:
            require_matching_patterns(contract, only, topics, options.draw)
            default_capabilities(contract).with_overrides(
                contract, options.capabilities
            )  # refuse an unknown name before the start
        require_matching_waivers(options.waivers, (*contracts, *map(load_contract, options.also)))
        if against is not None and (url is None or len(contracts) > 1 or list_only or dry_run):
            raise UsageError("--against needs a URL and one dialect, and is not for --list and --dry-run")
        first_file = next(path for kind, path in files[contracts[0].name] if kind == "json")
        second = None if against is None else read_second_server(against, options, first_file)
        codes: list[int] = []
        for contract in contracts:
            options = replace(options, dialect=contract.location, started_s=time.monotonic() if codes else started_s)
            if list_only or dry_run:
                _show_plan(options, contract, console, requests=dry_run)
                codes.append(exit_codes.CONFORMANT)
                continue
            with ExitStack() as stack:
                server = None
                if url is None:
                    with console.status("starting the embedded reference server"):
                        server = stack.enter_context(embedded_server.serve(contract))
                    options = replace(options, url=server.url, media_host=media_host or embedded_server.MEDIA_HOST)
                    options = replace(options, media_path=options.media_path or embedded_server.MEDIA_PATH)
                    secret = Secret(server.key) if server.key else None
                try:
                    file = next(str(path) for kind, path in files[contract.name] if kind == "json")
                    logs = report_files.live_logs(files[contract.name])
                    outcome = judge_server(
                        options, secret, console, file=file, clients=clients, fail_fast=fail_fast, logs=logs
                    )
                except Unreachable as error:  # a pipeline that expects the reports must find them
                    results = describe_unreachable(options, str(error))
                    report_files.write_reports(requested[contract.name], results, console)
                    raise
                if server is not None:
                    print_restart_hint(outcome, contract, server, console)
            # A run without any exchange must not replace the results of an earlier one.
            written = (files if outcome.results["exchanges"] else requested)[contract.name]
            report_files.write_reports(written, outcome.results, console, logs)
            exit_codes.print_own_errors(outcome)
            codes.append(exit_codes.exit_code(outcome))
            if second is not None:
                compare_with(second, options.url, outcome.results, first_file, console)
    if len(codes) > 1 and not (dry_run or list_only):
        console.print(_summary([contract.name for contract in contracts], codes))
    sys.exit(exit_codes.worst(codes))


def _name_files(reports: list[tuple[str, Path]], dialects: list[str]) -> dict[str, list[tuple[str, Path]]]:
    """Return the report files of each dialect; with several dialects, the name precedes the suffix of the file."""
    if len(dialects) == 1:
        return {dialects[0]: reports}
    return {
        name: [(kind, path.with_name(f"{path.stem}.{name}{path.suffix}")) for kind, path in reports]
        for name in dialects
    }


def _show_plan(options: RunOptions, contract: Contract, console: Console, *, requests: bool) -> None:
    """Show the plan for a server that does not describe itself: its requests, or else its requirements."""
    declaration = default_capabilities(contract).with_overrides(contract, options.capabilities)
    plan = draft(contract, declaration, options.only, options.topics, options.draw, options.depth)
    if requests:
        console.print(plan_preview.requests_table(plan, contract, options.model or contract.default_model))
    else:
        console.print(plan_preview.requirements_table(plan))
    if options.headers:
        console.print(plan_preview.headers_line(options.headers), soft_wrap=True)
    console.print(f"{plan_preview.costs_line(plan, contract, options.budget)}; nothing was sent", soft_wrap=True)


def _summary(dialects: list[str], codes: list[int]) -> Table:
    verdicts = {
        exit_codes.CONFORMANT: "[green]conformant[/green]",
        exit_codes.NONCONFORMANT: "[red]nonconformant[/red]",
        exit_codes.INCONCLUSIVE: "[yellow]inconclusive[/yellow]",
        exit_codes.INTERNAL_ERROR: "[red]internal error[/red]",
    }
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("dialect")
    table.add_column("verdict")
    for name, code in zip(dialects, codes, strict=True):
        table.add_row(name, verdicts.get(code, "[yellow]interrupted[/yellow]"))
    return table
