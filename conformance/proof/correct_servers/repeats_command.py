"""`chatproof faults repeats`: show that chance changes no row of a report on a correct server."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING

import click

from conformance.client.secret import Secret
from conformance.proof.exit_codes import FAILURE, SUCCESS, exit_on_errors
from conformance.proof.fault_host import list_dialects, start_fault_host
from conformance.proof.progress import show_progress
from conformance.record import BudgetLimits
from conformance.run.session.options import RunOptions
from conformance.run.session.preparation import prepare_server
from conformance.run.session.sending import send
from conformance.run.session.target import load_contract
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.proof.fault_host import RunningFaultHost

DEADLINE_S = 60.0  # for one exchange


@click.command(name="repeats", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--runs", type=click.IntRange(min=2), default=10, show_default=True, help="Runs in each dialect")
@click.option("--dialect", "dialects", metavar="NAME", multiple=True, help="Only this dialect (repeatable)")
def repeats(runs: int, dialects: tuple[str, ...]) -> None:
    """Judge the faultless server several times, and compare the outcomes of all requirements.

    The server draws every sampled answer with another seed each time. In ten runs no outcome may change: what chance
    decides must not be reported.

    Exit codes: 0 no outcome changed, 1 one did, 2 usage error, 5 internal error.
    """
    started_s, changed = time.monotonic(), 0
    with exit_on_errors():
        names = [load_contract(name).location for name in dialects] or list_dialects()
        with show_progress("starting the fault host") as show, start_fault_host(names) as host:
            for name in names:
                first: Mapping[str, str] = {}
                for number in range(1, runs + 1):
                    show(f"{name}: run {number} of {runs}")
                    outcomes = asyncio.run(judge_faultless(host, name))
                    first = first or outcomes
                    for line in compare(first, outcomes):
                        changed += 1
                        click.echo(f"{name}, run {number}: {line}")
                click.echo(f"{name}: {format_quantity(runs, 'run')}, {format_quantity(len(first), 'requirement')}")
    click.echo(f"{format_quantity(changed, 'outcome')} changed, {time.monotonic() - started_s:.0f} s")
    sys.exit(FAILURE if changed else SUCCESS)


def compare(first: Mapping[str, str], later: Mapping[str, str]) -> list[str]:
    """Return one line for each requirement whose outcome differs between two runs."""
    return [
        f"{name}: {first.get(name, 'no row')} -> {later.get(name, 'no row')}"
        for name in sorted(first.keys() | later.keys())
        if first.get(name) != later.get(name)
    ]


async def judge_faultless(host: RunningFaultHost, dialect: str) -> dict[str, str]:
    """Judge the faultless server of a dialect, and return the outcome of each requirement."""
    secret = Secret(host.key) if load_contract(dialect).auth == "bearer" else None
    limits = BudgetLimits(deadline_s=DEADLINE_S)
    options = RunOptions(url=host.address(dialect), dialect=dialect, strict=True, budget=limits)
    outcome = await send(await prepare_server(options, secret), secret)
    return {row.id: row.outcome.value for row in outcome.report.rows}
