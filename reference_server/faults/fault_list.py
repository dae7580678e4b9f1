"""`chatproof faults list` and `chatproof serve --fault list`: every fault, and the bugs it stands for."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import click
import yaml
from rich.markup import escape
from rich.table import Table

from openapi.console import screen
from openapi.contract.contract import load, names
from openapi.did_you_mean import meant
from reference_server.faults.fault import faults_of
from reference_server.http.served_contract import served

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_server.faults.fault import Fault


@cache
def bugs() -> Mapping[int, Mapping[str, Any]]:
    """The bugs of real servers by number: `says` what is wrong, `seen` where, and `left` why no fault stands for it."""
    text = files("reference_server.faults").joinpath("bugs.yaml").read_text(encoding="utf-8")
    content: dict[int, dict[str, Any]] = yaml.safe_load(text)
    return content


@cache
def known_faults(dialect: str) -> dict[str, Fault]:
    """The faults that a dialect's contract speaks to."""
    contract = load(dialect)
    return faults_of(contract, served(contract, bearer=contract.auth == "bearer"))


def all_faults() -> dict[str, Fault]:
    """Those of every dialect."""
    return {name: fault for dialect in dict.fromkeys(names().values()) for name, fault in known_faults(dialect).items()}


@click.command(name="list")
@click.option("--dialect", metavar="NAME", help="Only what this dialect's contract speaks to.")
def list_faults(dialect: str | None) -> None:
    """Every fault, what the server does then, and where it was seen."""
    if dialect is not None and dialect not in names():
        known = ", ".join(sorted(names()))
        raise click.UsageError(f"--dialect {dialect!r} is unknown; there are: {known}{meant(dialect, names())}")
    show(all_faults() if dialect is None else known_faults(names()[dialect]))


def show(faults: Mapping[str, Fault]) -> None:
    """Prints faults as a table."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("fault", no_wrap=True)
    table.add_column("what the server does")
    table.add_column("seen in")
    for fault in faults.values():
        table.add_row(escape(fault.name), escape(fault.line), escape(seen(fault)))
    screen().print(table)


def seen(fault: Fault) -> str:
    """The public reports of the bugs that a fault stands for."""
    if fault.benign:
        return "allowed"
    return "; ".join(dict.fromkeys(place for number in fault.bugs for place in bugs()[number]["seen"]))
