"""The command of the contract: `chatproof spec`."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

import click

from openapi.build import build, drift

HERE = Path(str(files("openapi"))) / "specs"


@click.command(name="build")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=HERE, help="Folder. Default: openapi/specs."
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when the folder differs from the contract.")
def build_specs(out: Path, check: bool) -> None:
    """Write every dialect as OpenAPI 3.2 (NAME.json) and 3.1 (NAME.oas31.json)."""
    if check:
        lines = drift(out)
        for line in lines:
            click.echo(line, err=True)
        click.echo(f"{out}: {'run `chatproof spec build`' if lines else 'as the contract says'}")
        sys.exit(1 if lines else 0)
    try:
        paths = build(out)
    except OSError as error:
        click.echo(f"chatproof: cannot write {out}: {error.strerror}", err=True)
        sys.exit(2)
    for path in paths:
        click.echo(path)
