"""`chatproof faults modes`: show that the reference server passes the whole suite in each of its modes."""

from __future__ import annotations

import asyncio
import sys
import time
from fnmatch import fnmatchcase

import click

from conformance.errors import UsageError
from conformance.proof.correct_servers.mode_run import run_modes, select_modes
from conformance.proof.exit_codes import FAILURE, SUCCESS, exit_on_errors
from conformance.proof.fault_host import start_fault_host
from conformance.proof.progress import show_progress
from openapi.schema.quantity import format_quantity


@click.command(name="modes", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, metavar="GLOB", help="Only these modes, as DIALECT/MODE (repeatable)")
@click.option("--thorough", is_flag=True, help="Test all modes of all dialects, with all requests of thorough runs")
def modes(only: tuple[str, ...], *, thorough: bool) -> None:
    """Run the suite with --strict against the reference server in every documented mode, over a real socket.

    The modes are: no own description, one capability switched off, all of them, those that a document takes away under
    one condition, full text, an API key, and combinations. All of them follow their document, so nothing is reported.
    The lack of one capability is tested in the first dialect that has it. A mode is tested with the scenarios that it
    changes, and with a sample of the others.

    Exit codes: 0 nothing was reported, 1 something was, 2 usage error, 5 internal error.
    """
    started_s = time.monotonic()
    with exit_on_errors(), show_progress("starting the server") as show, start_fault_host() as host:
        available = host.modes if thorough or only else select_modes(host.modes)
        selected = [
            mode
            for mode in available
            if not only or any(fnmatchcase(f"{mode.dialect}/{mode.name}", pattern) for pattern in only)
        ]
        if not selected:
            raise UsageError(f"--only {' '.join(only)}: no mode matches; one is {host.modes[0].dialect}/*")
        results = asyncio.run(run_modes(host, selected, show, thorough=thorough))
    for result in results:
        for line in result.reported:
            click.echo(f"{result.mode.dialect}/{result.mode.name}: {line}")
    wrong = sum(bool(result.reported) for result in results)
    requests = sum(result.requests for result in results)
    seconds = time.monotonic() - started_s
    sent = format_quantity(requests, "request")
    click.echo(f"{format_quantity(len(results), 'mode')}, {wrong} with false positives, {sent}, {seconds:.0f} s")
    sys.exit(FAILURE if wrong else SUCCESS)
