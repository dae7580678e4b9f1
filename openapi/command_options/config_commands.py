"""`chatproof init` and `chatproof config`: write the configuration file, show where each value is from, its schema."""

from __future__ import annotations

import json
from copy import copy
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource
from rich.table import Table
from rich.text import Text

from openapi.command_options import config_file
from openapi.command_options.duration import DURATION, Duration, format_duration
from openapi.console import LegibleTable, make_console
from openapi.whole_file import write_whole_text

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE: Final = """\
# Options of chatproof's commands. The command line and CHATPROOF_* variables win over this file.
# `chatproof config show` lists every option with its value and its origin.

[check]
max-time = "20m"
report = ["html=chatproof.html"]
# depth = "quick"
# strict = true
waivers = "waivers.yaml"

# `chatproof check @local` takes the URL and the options of this table.
[targets.local]
url = "http://127.0.0.1:8000"
dialect = "mindie"
# api-key-env = "MY_KEY"
"""
WAIVERS: Final = """\
# Known failures to accept. A waiver that has expired, or that no failure needs, fails the run.
#
# - id: stream.done-last
#   reason: the gateway drops it, ticket 123
#   owner: platform team
#   expires: 2026-12-31
[]
"""
WORKFLOW: Final = """\
# Judges the server @local of chatproof.toml. docs/ci.md of chatproof explains the action.
name: conformance
on: [push, pull_request]
jobs:
  conformance:
    runs-on: ubuntu-latest
    permissions: {contents: read}
    steps:
      - uses: actions/checkout@v4
      - name: Start the server
        run: echo "replace this line by the command that starts your server in the background"; exit 1
      - name: Get chatproof
        uses: actions/checkout@v4
        with:
          repository: OWNER/chatproof  # your copy of chatproof
          path: .chatproof
      - uses: ./.chatproof
        with:
          url: "@local"
          arguments: --wait 5m
          annotate: chatproof.toml
"""
OTHER_FILES: Final = {"waivers.yaml": WAIVERS, ".github/workflows/chatproof.yml": WORKFLOW}
"""What `init` writes next to the configuration file."""
SCHEMA: Final = "https://json-schema.org/draft/2020-12/schema"


@click.command(name="init")
def init() -> None:
    """Write files to begin with: chatproof.toml, waivers.yaml and a workflow for GitHub. Files that exist are kept."""
    path = config_file.config_path()
    if path.exists():
        raise click.UsageError(f"{path} exists: it is left as it is")
    for other, text in ((path, EXAMPLE), *((path.parent / name, text) for name, text in OTHER_FILES.items())):
        if other.exists():
            click.echo(f"{other} exists: it is left as it is")
            continue
        try:
            other.parent.mkdir(parents=True, exist_ok=True)
            write_whole_text(other, text)
        except OSError as error:
            raise click.UsageError(f"cannot write {other}: {error.strerror}") from error
        click.echo(f"{other} written")
    click.echo(f"`chatproof check @local` judges the server that {path} names")


@click.command(name="show")
@click.argument("command", type=click.Choice(config_file.COMMANDS), default="check")
@click.argument("target", metavar="[@TARGET]", required=False)
def show(command: str, target: str | None) -> None:
    """Show the value of every option of a command (default: check), and where it is from."""
    context = click.get_current_context()
    chosen = _load(context, command)
    if target and not config_file.takes_target(chosen):
        raise click.UsageError(f"`{command}` has no URL, so it takes no target such as {target!r}")
    given = [target] if target else []
    defaults = config_file.read_defaults(chosen, command)
    read = _without_required(chosen).make_context(command, given, parent=context.find_root(), default_map=defaults)
    for name in config_file.read_config().get(config_file.TARGETS, {}) if config_file.takes_target(chosen) else ():
        config_file.read_target(read, f"@{name}")  # reports a mistake in any target
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("option", "value", "from"):
        table.add_column(column, overflow="fold")
    if target:
        table.add_row(config_file.URL, Text(str(read.params[config_file.URL])), target)
    for parameter in chosen.params:
        name = config_file.option_name(parameter)
        if name is None or name == "help":
            continue
        shown = _shown(read.params[str(parameter.name)], parameter)
        table.add_row(f"--{name}", Text(shown), Text(_origin(read, parameter, command)))
    make_console().print(LegibleTable(table))


@click.command(name="schema")
def print_schema() -> None:
    """Print the JSON Schema of chatproof.toml, for editors."""
    context = click.get_current_context()
    tables = {name: _table(_load(context, name)) for name in config_file.COMMANDS}
    options = {**tables["load"]["properties"], **tables["check"]["properties"]}
    target = {**tables["check"], "properties": {"url": {"type": "string"}, **options}, "required": ["url"]}
    targets = {"type": "object", "additionalProperties": target}
    schema = {
        "$schema": SCHEMA,
        "title": "Options of chatproof",
        "type": "object",
        "additionalProperties": False,
        "properties": {**tables, config_file.TARGETS: targets},
    }
    click.echo(json.dumps(schema, indent=1))


def _without_required(command: click.Command) -> click.Command:
    """Return a copy of a command whose options can be read without the arguments that a real call needs."""
    lenient = copy(command)
    lenient.params = [copy(parameter) for parameter in command.params]
    for parameter in lenient.params:
        parameter.required = False
    return lenient


def _shown(value: Any, parameter: click.Parameter) -> str:
    if value is None or value == ():
        return ""
    if isinstance(parameter.type, Duration):
        return format_duration(value)
    return "\n".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _load(context: click.Context, name: str) -> click.Command:
    root = context.find_root()
    if not isinstance(root.command, click.Group):
        raise click.UsageError(f"no command {name}")
    _, command, _ = root.command.resolve_command(root, [name])
    if command is None:
        raise click.UsageError(f"no command {name}")
    return command


def _origin(context: click.Context, parameter: click.Parameter, command: str) -> str:
    """Return the variable, the table of the file, or `default`."""
    source = context.get_parameter_source(str(parameter.name))
    if source is ParameterSource.ENVIRONMENT:
        return str(parameter.envvar)
    if source is not ParameterSource.DEFAULT_MAP:
        return "default"
    place, names = context.meta.get(config_file.TARGETS, ("", set()))
    return str(place) if parameter.name in names else f"{config_file.config_path()}: [{command}]"


def _table(command: click.Command) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": dict(_properties(command))}


def _properties(command: click.Command) -> Iterator[tuple[str, dict[str, Any]]]:
    for parameter in command.params:
        name = config_file.option_name(parameter)
        if name is None or name == "help" or not isinstance(parameter, click.Option):
            continue
        value = _value_schema(parameter)
        described = {"type": "array", "items": value} if parameter.multiple else value
        yield name, {**described, "description": parameter.help or ""}


def _value_schema(option: click.Option) -> dict[str, Any]:
    kind = option.type
    if option.is_flag:
        return {"type": "boolean"}
    if isinstance(kind, Duration):
        return {"type": ["string", "number"], "pattern": f"^({DURATION.pattern})$", "minimum": 0}
    if isinstance(kind, click.Choice):
        return {"enum": list(kind.choices)}
    if isinstance(kind, click.IntRange | click.FloatRange):
        limits = {"minimum": kind.min, "maximum": kind.max}
        if kind.min_open:
            limits = {"exclusiveMinimum": kind.min, "maximum": kind.max}
        name = "integer" if isinstance(kind, click.IntRange) else "number"
        return {"type": name, **{key: limit for key, limit in limits.items() if limit is not None}}
    numbers = {"integer": "integer", "float": "number"}
    return {"type": numbers.get(kind.name, "string")}
