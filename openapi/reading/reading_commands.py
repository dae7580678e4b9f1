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
from openapi.reading.compare.delta import nearest_dialect
from openapi.reading.compare.delta_text import render_delta
from openapi.reading.compare.drift import DriftStatus, compare_page
from openapi.reading.compare.recorded_differences import ExplainedRow, explain, find_stale
from openapi.reading.facts.facts import Facts, cells_line, read_facts
from openapi.reading.pages.page import read_page
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from openapi.contract.contract import Contract

USAGE_ERROR = 2  # exit code for invalid arguments or an invalid page


@click.command(name="read")
@click.argument("page", type=click.Path(path_type=Path))
@click.option("--extends", metavar="DIALECT", help="Dialect that the delta extends. Default: the most similar one.")
def read(page: Path, extends: str | None) -> None:
    """Print the facts of a vendor's PAGE as a dialect's delta in YAML, and the text that could not be read."""
    try:
        facts = read_facts(read_page(_read_bytes(page), page.name))
        contract = nearest_dialect(facts) if extends is None else load(extends)
        click.echo(render_delta(facts, contract, page.name), nl=False)
    except ContractError as error:
        _stop(error)


@click.command(name="drift")
@click.argument("page", type=click.Path(path_type=Path))
@click.option("--dialect", required=True, metavar="NAME", help="Dialect to compare the page with.")
@click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True, help="Output format."
)
@click.option("--all", "everything", is_flag=True, help="Show facts that agree, too.")
def drift(page: Path, dialect: str, form: str, everything: bool) -> None:
    """Compare a vendor's PAGE with a dialect. Exit with 1 if they differ without a recorded reason, else with 0."""
    try:
        content = _read_bytes(page)
        contract = load(dialect)
        facts = read_facts(read_page(content, page.name))
        differences = compare_page(facts, contract)
        explained = explain(differences, contract.location)
        gone = [" ".join(filter(None, key[:3])) for key in find_stale(differences, contract.location)]
    except ContractError as error:
        _stop(error)
    shown = [row for row in explained if everything or row.difference.status is not DriftStatus.AGREES]
    pinned = sha256(content).hexdigest() == contract.document.sha256
    if form == "json":
        rows = [_json_row(row) for row in shown]
        summary = {"dialect": contract.name, "pinned": pinned, "counts": counts(explained), "no_longer_there": gone}
        click.echo(json.dumps({**summary, "differences": rows}, ensure_ascii=False, indent=2))
    else:
        _print_table(shown)
        for row in gone:
            click.echo(f"recorded but no longer present: {row}")
        click.echo(summary_line(facts, explained, contract, pinned=pinned))
    sys.exit(1 if any(row.is_drift for row in explained) else 0)


def counts(explained: list[ExplainedRow]) -> dict[str, int]:
    """Count the attributes that agree, that differ for a recorded reason, and that drift, by status."""
    drifting = [row.difference.status for row in explained if row.is_drift]
    return {
        "agrees": sum(row.difference.status is DriftStatus.AGREES for row in explained),
        "recorded": sum(row.reason is not None for row in explained),
        **{str(status): drifting.count(status) for status in DriftStatus if status is not DriftStatus.AGREES},
    }


def summary_line(facts: Facts, explained: list[ExplainedRow], contract: Contract, *, pinned: bool) -> str:
    """Format the line below the table, with all counts."""
    counted = counts(explained)
    differences = ", ".join(f"{count} {name}" for name, count in counted.items())
    which = f"{'the pinned' if pinned else 'not the pinned'} {contract.document.id}"
    rows = format_quantity(facts.rows, "row")
    return f"{contract.name}: {differences}. Page: {which}, {facts.form}, {rows}, {cells_line(facts)}."


def _json_row(row: ExplainedRow) -> dict[str, Any]:
    reason = {"reading": row.reason and row.reason.slug, "reason": row.reason and row.reason.text}
    return {**asdict(row.difference), **reason}


def _print_table(shown: list[ExplainedRow]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from openapi.console import LegibleTable, make_console

    console = make_console()
    table = Table("line", "where", "what", "page", "contract", "status", "reason", show_edge=False)
    for row in sorted(shown, key=lambda item: item.is_drift):
        difference = row.difference
        page = "\n".join((difference.page or "-", *(difference.words if row.is_drift else ())))
        cells = (page, difference.contract or "-", str(difference.status))
        reason = f"{row.reason.slug}: {row.reason.text}" if row.reason else "NOT RECORDED" if row.is_drift else ""
        where = f"{difference.part} {difference.path}".strip()
        table.add_row(str(difference.line or ""), *map(escape, (where, difference.member, *cells, reason)))
    if shown:
        console.print(LegibleTable(table))


def _read_bytes(page: Path) -> bytes:
    try:
        return page.read_bytes()
    except OSError as error:
        raise ContractError(f"cannot read {page}: {error.strerror}: expected the file of a vendor's page") from None


def _stop(error: ContractError) -> NoReturn:
    click.echo(f"chatproof: {error}", err=True)
    sys.exit(USAGE_ERROR)
