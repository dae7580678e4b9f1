"""The commands of the contract: `chatproof spec build`, `diff` and `matrix`."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click
from rich.markup import escape
from rich.table import Table

from openapi.console import screen
from openapi.contract.contract import ContractError, load, names
from openapi.description import comparison, matrix
from openapi.description.comparison_source import described
from openapi.description.spec_files import build, drift

if TYPE_CHECKING:
    from openapi.contract.contract import Contract

HERE = Path(str(files("openapi"))) / "specs"
WRONG = 2  # the exit code of a command that was used wrongly, or on a file that is broken


@click.command(name="build")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=HERE, help="Folder. Default: openapi/specs."
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when the folder differs from the contract.")
def build_specs(out: Path, check: bool) -> None:
    """Write every dialect as OpenAPI 3.2 (NAME.json) and 3.1 (NAME.oas31.json)."""
    try:
        lines = drift(out) if check else []
        paths = [] if check else build(out)
    except ContractError as error:
        _stop(str(error))
    except OSError as error:
        _stop(f"cannot write {out}: {error.strerror}")
    if check:
        for line in lines:
            click.echo(line, err=True)
        click.echo(f"{out}: {'run `chatproof spec build`' if lines else 'as the contract says'}")
        sys.exit(1 if lines else 0)
    for path in paths:
        click.echo(path)


@click.command(name="diff")
@click.argument("before")
@click.argument("after")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="Of the output.",
)
def diff(before: str, after: str, form: str) -> None:
    """What changes for a client of BEFORE that meets AFTER: breaking, widening, neutral.

    Each is a dialect, a dialect's YAML file, or a description that `chatproof spec build` wrote.
    """
    try:
        found = comparison.compare(described(before), described(after))
    except ContractError as error:
        _stop(str(error))
    if form == "markdown":
        click.echo(comparison.markdown(found), nl=False)
    elif form == "json":
        click.echo(comparison.text(found), nl=False)
    else:
        click.echo(found.headline)
        for table in comparison.tables(found):
            screen().print(table)


@click.command(name="matrix")
@click.option("--dialect", "chosen", multiple=True, metavar="NAME", help="Only this column. Repeatable.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown"]),
    default="text",
    show_default=True,
    help="Of the output.",
)
@click.option(
    "--write", "page", type=click.Path(path_type=Path, dir_okay=False), help="Write the page of all dialects."
)
@click.option("--check", is_flag=True, help="With --write: write nothing; exit 1 when the page differs.")
def print_matrix(chosen: tuple[str, ...], form: str, page: Path | None, check: bool) -> None:
    """Every parameter, answer, stream and refusal, dialect by dialect."""
    if page is not None and chosen:
        raise click.UsageError("--write takes all dialects: leave --dialect out")
    if check and page is None:
        raise click.UsageError("--check needs --write PAGE")
    try:
        contracts = [load(name) for name in dict.fromkeys(chosen or names().values())]
    except ContractError as error:
        _stop(str(error))
    if page is not None:
        _keep(page, matrix.markdown(contracts), check)
    elif form == "markdown":
        click.echo(matrix.markdown(contracts), nl=False)
    else:
        _show(contracts)


def _keep(page: Path, content: str, check: bool) -> None:
    try:
        if check:
            same = page.is_file() and page.read_bytes() == content.encode()
            again = f"run `chatproof spec matrix --write {page}`"
            click.echo(f"{page}: {'as the contract says' if same else again}")
            sys.exit(0 if same else 1)
        page.write_bytes(content.encode())
    except OSError as error:
        _stop(f"cannot {'read' if check else 'write'} {page}: {error.strerror}")
    click.echo(page)


def _show(contracts: list[Contract]) -> None:
    console = screen()
    for section in matrix.sections(contracts):
        table = Table(title=section.title, title_justify="left")
        for name in ("", *(contract.name for contract in contracts)):
            table.add_column(name, overflow="fold")
        for row in section.rows:
            label = "  " * row.depth + " ".join(filter(None, [row.name, row.words]))
            table.add_row(*map(escape, (label, *row.cells)))
        console.print(table)


def _stop(message: str) -> NoReturn:
    click.echo(f"chatproof: {message}", err=True)
    sys.exit(WRONG)
