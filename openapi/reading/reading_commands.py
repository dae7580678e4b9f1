"""The commands `chatproof spec read` and `chatproof spec drift`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from openapi.contract.contract import ContractError, load
from openapi.reading.compare.delta import delta_text, nearest
from openapi.reading.compare.drift import Status, compare
from openapi.reading.compare.recorded_differences import Judged, judge, stale
from openapi.reading.facts.facts import Facts, facts_of
from openapi.reading.pages.page import rows_of

if TYPE_CHECKING:
    from openapi.contract.contract import Contract

WRONG = 2  # the exit code of a command that was used wrongly, or on something that is no page


@click.command(name="read")
@click.argument("page", type=click.Path(path_type=Path))
@click.option("--extends", metavar="DIALECT", help="The dialect that the delta is made for. Default: the nearest.")
def read(page: Path, extends: str | None) -> None:
    """Print the facts of a vendor's PAGE as YAML, in the form of a dialect's delta, and what is left to a person."""
    try:
        facts = facts_of(rows_of(_bytes(page), page.name))
        contract = nearest(facts) if extends is None else load(extends)
        click.echo(delta_text(facts, contract, page.name), nl=False)
    except ContractError as error:
        _stop(error)


@click.command(name="drift")
@click.argument("page", type=click.Path(path_type=Path))
@click.option("--dialect", required=True, metavar="NAME", help="The dialect that the page is held against.")
@click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True, help="Of the output."
)
@click.option("--all", "everything", is_flag=True, help="Show what agrees, too.")
def drift(page: Path, dialect: str, form: str, everything: bool) -> None:
    """Hold a vendor's PAGE against a dialect. Exit 1 where they differ and nobody has recorded why, else 0."""
    try:
        content = _bytes(page)
        contract = load(dialect)
        facts = facts_of(rows_of(content, page.name))
        differences = compare(facts, contract)
        judged = judge(differences, contract.name)
        gone = [" ".join(filter(None, key[:3])) for key in stale(differences, contract.name)]
    except ContractError as error:
        _stop(error)
    shown = [each for each in judged if everything or each.difference.status is not Status.AGREES]
    pinned = sha256(content).hexdigest() == contract.document.sha256
    if form == "json":
        rows = [_row(each) for each in shown]
        summary = {"dialect": contract.name, "pinned": pinned, "counts": counts(judged), "no_longer_there": gone}
        click.echo(json.dumps({**summary, "differences": rows}, ensure_ascii=False, indent=2))
    else:
        _print_table(shown)
        for row in gone:
            click.echo(f"recorded, and no longer there: {row}")
        click.echo(summary_line(facts, judged, contract, pinned=pinned))
    sys.exit(1 if any(each.drifts for each in judged) else 0)


def counts(judged: list[Judged]) -> dict[str, int]:
    """How many members agree, differ on purpose, and drift; the last one apart by side."""
    drifting = [each.difference.status for each in judged if each.drifts]
    return {
        "agrees": sum(each.difference.status is Status.AGREES for each in judged),
        "recorded": sum(each.reason is not None for each in judged),
        **{str(status): drifting.count(status) for status in Status if status is not Status.AGREES},
    }


def summary_line(facts: Facts, judged: list[Judged], contract: Contract, *, pinned: bool) -> str:
    """The last line of the table: everything that was counted."""
    counted = counts(judged)
    found = ", ".join(f"{count} {name}" for name, count in counted.items())
    which = f"{'the pinned' if pinned else 'not the pinned'} {contract.document.id}"
    return f"{contract.name}: {found}. Page: {which}, {facts.form}, {facts.rows} rows, {cells_line(facts)}."


def cells_line(facts: Facts) -> str:
    """How far the cells were read."""
    count = facts.count
    return f"{count.read} cells read, {count.partly} in part, {count.left} left to a person"


def _row(each: Judged) -> dict[str, Any]:
    reason = {"reading": each.reason and each.reason.slug, "reason": each.reason and each.reason.text}
    return {**asdict(each.difference), **reason}


def _print_table(shown: list[Judged]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 200, highlight=False)
    table = Table("line", "where", "what", "page", "contract", "status", "reading", show_edge=False)
    for each in sorted(shown, key=lambda item: item.drifts):
        one = each.difference
        page = "\n".join((one.page or "-", *(one.words if each.drifts else ())))
        cells = (page, one.contract or "-", str(one.status))
        reading = f"{each.reason.slug}: {each.reason.text}" if each.reason else "NOT RECORDED" if each.drifts else ""
        where = f"{one.part} {one.path}".strip()
        table.add_row(str(one.line or ""), *map(_literal, (where, one.member, *cells, reading)))
    if shown:
        console.print(table)


def _literal(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _bytes(page: Path) -> bytes:
    try:
        return page.read_bytes()
    except OSError as error:
        raise ContractError(f"{page}: {error.strerror}; give the file of a vendor's page") from None


def _stop(error: ContractError) -> NoReturn:
    click.echo(f"chatproof: {error}", err=True)
    sys.exit(WRONG)
