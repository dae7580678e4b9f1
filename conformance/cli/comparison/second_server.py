"""`chatproof check URL --against OTHER`: judge a second server in the same way, and compare the two.

The second server gets no key or header of the first one. If it needs its own, it is named as a target of
chatproof.toml, which states them.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from conformance.cli.check_run import judge_server
from conformance.client import headers
from conformance.report.comparison.deployment_matrix import compare_deployments
from conformance.report.comparison.deployment_runs import Deployment, summarize_run
from conformance.report.comparison.matrix_table import matrix_tables
from conformance.report.writers import report_files
from conformance.report.writers.terminal_text import sanitize
from conformance.run.connection_settings import read_secret, read_verify, shell_variable
from conformance.run.session.preparation import prepare_server
from openapi.command_options.config_file import read_target

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from conformance.client.secret import Secret
    from conformance.run.session.options import RunOptions


@dataclass(frozen=True, slots=True)
class SecondServer:
    """The server to compare with: its name, the options of its run, its key, and the file for its results."""

    name: str
    options: RunOptions
    secret: Secret | None
    file: Path


def read_second_server(against: str, options: RunOptions, first_file: Path) -> SecondServer:
    """Return the second server, with the options of the first run and its own connection settings.

    Raise UsageError for an unknown target or an invalid setting, and Unreachable if it cannot be judged, before the
    first server is sent any request.
    """
    url, values = against, dict[str, Any]()
    if against.startswith("@"):
        url, values, _ = read_target(click.get_current_context(), against)
    own = replace(
        options,
        url=url,
        model=values.get("model"),
        verify=read_verify(values.get("insecure", False), values.get("ca_file")),
        key_variable=shell_variable(values.get("api_key_env")),
        headers=headers.read(values.get("plain_headers", ()), values.get("secret_headers", ())),
    )
    secret = read_secret(values.get("api_key_env"))
    asyncio.run(prepare_server(own, secret))
    base, *endings = first_file.name.split(".", 1)
    return SecondServer(against, own, secret, first_file.with_name(".".join((base, "against", *endings))))


def compare_with(second: SecondServer, first_name: str, first: dict[str, Any], file: Path, console: Console) -> None:
    """Judge the second server, write its results, and print what is violated or different."""
    console.print(f"against {sanitize(second.name)}", style="bold", markup=False)
    options = replace(second.options, started_s=time.monotonic())
    outcome = judge_server(options, second.secret, console, file=str(second.file))
    report_files.write_reports([("json", second.file)], outcome.results, console)
    runs = (
        (first_name, file, first),
        (second.name, second.file, outcome.results),
    )
    deployments = [
        Deployment(name, results["target"]["dialect"], (summarize_run(results, path),)) for name, path, results in runs
    ]
    for item in matrix_tables(compare_deployments(deployments)):
        console.print(item)
    files = shlex.join(map(str, (file, second.file)))
    command = f"chatproof matrix {files} --report html=matrix.html"
    console.print(f"as a page: {command}", soft_wrap=True, markup=False)
