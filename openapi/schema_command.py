"""The command `chatproof dialect schema`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from openapi.contract.validation.file_schema import FILE_SCHEMA

if TYPE_CHECKING:
    from openapi.schema.json_schema import Schema


def render_schema(schema: Schema = FILE_SCHEMA) -> str:
    """Return the text of the schema file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


@click.command(name="schema")
def print_schema() -> None:
    """Print the JSON Schema of a dialect file, for editors."""
    click.echo(render_schema(), nl=False)
