"""`chatproof faults list` and `chatproof serve --fault list`: every fault, and the bugs that it reproduces."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import click
import yaml
from rich.markup import escape
from rich.table import Table

from openapi.console import LegibleTable, make_console
from openapi.contract.contract import ContractError, load, names
from reference_server.faults.registry import faults_of
from reference_server.http.served_contract import served_contract

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_server.faults.fault import Fault


@cache
def load_bugs() -> Mapping[int, Mapping[str, Any]]:
    """Return the bugs of real servers by number.

    `says`: the bug. `seen`: public reports. `left`: why no fault reproduces it.
    """
    text = files("reference_server.faults").joinpath("bugs.yaml").read_text(encoding="utf-8")
    content: dict[int, dict[str, Any]] = yaml.load(text, Loader=yaml.CSafeLoader)
    return content


@cache
def known_faults(dialect: str) -> dict[str, Fault]:
    """Return the faults that a dialect's contract covers, by name."""
    contract = load(dialect)
    return faults_of(contract, served_contract(contract, bearer=contract.auth == "bearer"))


def all_faults() -> dict[str, Fault]:
    """Return the faults of every dialect, by name."""
    return {name: fault for dialect in dict.fromkeys(names().values()) for name, fault in known_faults(dialect).items()}


@click.command(name="list")
@click.option("--dialect", metavar="NAME", help="Only faults that this dialect's contract covers.")
def list_faults(dialect: str | None) -> None:
    """List every fault, what the server does, and where it was reported."""
    list_dialect_faults(dialect)


def list_dialect_faults(dialect: str | None) -> None:
    """Print the faults of a dialect, or of all. Raises UsageError for an unknown or invalid one."""
    try:
        print_faults(all_faults() if dialect is None else known_faults(load(dialect).location))
    except ContractError as error:
        raise click.UsageError(f"--dialect: {error}") from error


def print_faults(faults: Mapping[str, Fault]) -> None:
    """Print faults as a table."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("fault", no_wrap=True)
    table.add_column("what the server does")
    table.add_column("reported in", overflow="fold")
    for fault in faults.values():
        table.add_row(escape(fault.name), escape(fault.line), escape(reports_of(fault)))
    make_console().print(LegibleTable(table))


def reports_of(fault: Fault) -> str:
    """Return the public reports of the bugs that a fault reproduces."""
    reported = dict.fromkeys(report for number in fault.bugs for report in load_bugs()[number]["seen"])
    return "allowed" if fault.benign else "; ".join([*reported, *fault.sources])
