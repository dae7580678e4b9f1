"""The commands `chatproof spec build`, `diff` and `matrix`."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click
from rich.markup import escape
from rich.table import Table

from openapi.console import LegibleTable, make_console
from openapi.contract.contract import ContractError, list_all, load
from openapi.description import comparison, matrix
from openapi.description.comparison_source import load_description
from openapi.description.spec_files import check_specs, write_specs

if TYPE_CHECKING:
    from openapi.contract.contract import Contract

SPECS = Path(str(files("openapi"))) / "specs"
USAGE_ERROR = 2  # exit code for invalid arguments or an invalid file


@click.command(name="build")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    default=SPECS,
    help="Output folder. Default: openapi/specs.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if the folder differs from the contract.")
def build_specs(out: Path, check: bool) -> None:
    """Write every dialect as OpenAPI 3.2 (NAME.json) and 3.1 (NAME.oas31.json)."""
    try:
        lines = check_specs(out) if check else []
        paths = [] if check else write_specs(out)
    except ContractError as error:
        _stop(str(error))
    except OSError as error:
        _stop(f"cannot write {out}: {error.strerror}")
    if check:
        for line in lines:
            click.echo(line, err=True)
        click.echo(f"{out}: {'out of date: run `chatproof spec build`' if lines else 'up to date'}")
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
    help="Output format.",
)
def diff(before: str, after: str, form: str) -> None:
    """Compare two descriptions from the view of a client that was written for BEFORE and now uses AFTER.

    BEFORE and AFTER are each a dialect, a dialect's YAML file, or a description that `chatproof spec build` wrote.
    Differences are breaking, widening or neutral.
    """
    try:
        result = comparison.compare(load_description(before), load_description(after))
    except ContractError as error:
        _stop(str(error))
    if form == "markdown":
        click.echo(comparison.render_markdown(result), nl=False)
    elif form == "json":
        click.echo(comparison.render_json(result), nl=False)
    else:
        click.echo(result.headline)
        for table in comparison.render_tables(result):
            make_console().print(LegibleTable(table, heads=3))


@click.command(name="matrix")
@click.option("--dialect", "chosen", multiple=True, metavar="NAME", help="Show only this dialect. Repeatable.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@click.option(
    "--write",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a Markdown page with all dialects to this file.",
)
@click.option("--check", is_flag=True, help="With --write: write nothing; exit with 1 if the page differs.")
def print_matrix(chosen: tuple[str, ...], form: str, page: Path | None, check: bool) -> None:
    """Show every parameter, answer, stream and error of all dialects side by side."""
    if page is not None and chosen:
        raise click.UsageError("--write and --dialect are mutually exclusive: the page shows all dialects")
    if check and page is None:
        raise click.UsageError("--check requires --write PAGE")
    try:
        contracts = [load(name) for name in dict.fromkeys(chosen or list_all())]
    except ContractError as error:
        _stop(str(error))
    if page is not None:
        _write_or_check(page, matrix.render_markdown(contracts), check)
    elif form == "markdown":
        click.echo(matrix.render_markdown(contracts), nl=False)
    else:
        _print_matrix(contracts)


def _write_or_check(page: Path, content: str, check: bool) -> None:
    try:
        if check:
            same = page.is_file() and page.read_bytes() == content.encode()
            advice = f"out of date: run `chatproof spec matrix --write {page}`"
            click.echo(f"{page}: {'up to date' if same else advice}")
            sys.exit(0 if same else 1)
        page.write_bytes(content.encode())
    except OSError as error:
        _stop(f"cannot {'read' if check else 'write'} {page}: {error.strerror}")
    click.echo(page)


def _print_matrix(contracts: list[Contract]) -> None:
    console = make_console()
    for section in matrix.sections(contracts):
        table = Table(title=section.title, title_justify="left")
        for name in ("", *(contract.name for contract in contracts)):
            table.add_column(name, overflow="fold")
        for row in section.rows:
            label = "  " * row.depth + " ".join(filter(None, [row.name, row.words]))
            table.add_row(*map(escape, (label, *row.cells)))
        console.print(LegibleTable(table, by_value=True))


def _stop(message: str) -> NoReturn:
    click.echo(f"chatproof: {message}", err=True)
    sys.exit(USAGE_ERROR)
