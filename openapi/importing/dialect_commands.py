"""The commands `chatproof dialect new` and `docs`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import click

from openapi.contract.contract import ContractError, load
from openapi.description.reference_page import render_page
from openapi.importing.new_dialect import ImportOptions, import_source
from openapi.importing.source import read_source
from openapi.whole_file import write_whole_text

USAGE_ERROR = 2  # exit code for invalid arguments or an invalid source


@click.command(name="new")
@click.argument("source")
@click.option(
    "--extends",
    metavar="DIALECT",
    help="Dialect that the new one extends, such as openai. Default: the one that lacks the fewest parameters.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write, as a whole and only if the source can be read. Default: stdout.",
)
@click.option("--id", "name", metavar="ID", help="Id of the new dialect. Default: from the title of the source.")
@click.option("--title", help="Title of the new dialect. Default: that of the source.")
@click.option("--vendor", help="Vendor of the interface. Default: the title of the source.")
@click.option("--url", help="Where the source is published. Default: its URL or file name.")
@click.option("--path", metavar="PATH", help="Path of the chat operation, if a description has several.")
@click.option(
    "--section",
    "sections",
    multiple=True,
    metavar="WORDS",
    help="Read only what is below headings of a page that contain these words. Repeatable. Default: chat completions.",
)
@click.option("--partial", is_flag=True, help="The source describes only what differs: keep the other parameters.")
@click.option(
    "--quotes/--no-quotes",
    default=True,
    show_default=True,
    help="Whether the file may contain the vendor's words: without them, to-dos only name the place.",
)
def new(
    source: str,
    extends: str | None,
    out: Path | None,
    name: str | None,
    title: str | None,
    vendor: str | None,
    url: str | None,
    path: str | None,
    sections: tuple[str, ...],
    partial: bool,
    quotes: bool,
) -> None:
    """Write a dialect file from SOURCE: an OpenAPI description, a page of documentation, or the URL of a server.

    For example: chatproof dialect new https://docs.acme.example/chat --out acme.yaml
    """
    try:
        options = ImportOptions(
            extends, datetime.now(tz=UTC).date(), name, title, vendor, url, path, sections, partial, quotes
        )
        imported = import_source(read_source(source), options)
    except ContractError as error:
        _stop(str(error), out)
    _write(imported.text, out)
    where = f"check it with: chatproof dialect check {out}" if out else "--out FILE writes it to a file"
    click.echo(f"chatproof: {imported.summary}; {where}", err=True)


@click.command(name="docs")
@click.argument("dialect")
@click.option("--out", "-o", type=click.Path(path_type=Path, dir_okay=False), help="File to write. Default: stdout.")
def docs(dialect: str, out: Path | None) -> None:
    """Render the reference page of DIALECT, a name or a file, in Markdown."""
    try:
        text = render_page(load(dialect))
    except ContractError as error:
        _stop(str(error), out)
    _write(text, out)


def _write(text: str, out: Path | None) -> None:
    if out is None:
        click.echo(text, nl=False)
        return
    try:
        write_whole_text(out, text)
    except OSError as error:
        _stop(f"cannot write {out}: {error.strerror}", out)
    click.echo(out)


def _stop(message: str, out: Path | None) -> NoReturn:
    """Exit with an error. The shell has already emptied a file to which it redirects, which --out would not do."""
    hint = "" if out or sys.stdout.isatty() else "; nothing was written: --out FILE leaves a file as it is in this case"
    click.echo(f"chatproof: {message}{hint}", err=True)
    sys.exit(USAGE_ERROR)
