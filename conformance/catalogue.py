"""The catalogue of checks: `chatproof checks list` and `chatproof checks show`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from conformance.check import gather
from conformance.errors import UsageError
from conformance.session import contract_of
from openapi.contract import names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.check import Check
    from openapi.contract import Contract

USAGE = 2


@click.command(name="list")
@click.option("--dialect", metavar="NAME", help="Only what this dialect requires, with its keywords.")
def list_checks(dialect: str | None) -> None:
    """Every check with its claim."""
    try:
        contract = contract_of(dialect) if dialect else None
    except UsageError as error:
        _leave(str(error))
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("check", no_wrap=True)
    if contract:
        table.add_column("keyword")
    table.add_column("claim")
    for found in _of(contract):
        keyword = [contract.requirements[found.id].keyword.value] if contract else []
        table.add_row(found.id, *keyword, escape(found.claim))
    Console(highlight=False).print(table)


def _of(contract: Contract | None) -> Iterator[Check]:
    for identity, found in sorted(gather().items()):
        if contract is None or identity in contract.requirements:
            yield found


@click.command(name="show")
@click.argument("identity", metavar="ID")
def show_check(identity: str) -> None:
    """One check: claim, help, and which dialects ask for it."""
    known = gather()
    if identity not in known:
        near = [name for name in known if identity.split(".")[-1] in name or name.startswith(identity)]
        hint = f"; near: {', '.join(near[:5])}" if near else "; `chatproof checks list` shows them all"
        _leave(f"no check is called {identity!r}{hint}")
    found = known[identity]
    console = Console(highlight=False)
    console.print(f"[bold]{found.id}[/bold]\n{escape(found.claim)}")
    if found.help:
        console.print(f"\n{escape(found.help)}")
    console.print("")
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("dialect", "keyword", "source", "reading"):
        table.add_column(column)
    for name in dict.fromkeys(names().values()):
        row = contract_of(name).requirements.get(identity)
        if row is not None:
            table.add_row(name, row.keyword.value, escape(row.source), row.reading or "")
    console.print(table)


def _leave(message: str) -> NoReturn:
    click.echo(f"chatproof: {message}", err=True)
    sys.exit(USAGE)
