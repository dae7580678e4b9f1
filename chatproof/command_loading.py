"""Import the module of a command when it runs, and report an extra that is not installed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from chatproof.command_table import Command, CommandGroup

PROGRAM: Final = "chatproof"
OWN_PACKAGES: Final = ("conformance", "loadtests", "openapi", "reference_server")


def load_command(path: str, entry: Command) -> click.Command:
    """Import a command. Raises UsageError if its extra is not installed. path: the command as the user types it."""
    module, _, attribute = entry.location.partition(":")
    try:
        command: Any = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise_if_extra_missing(path, entry, error)
        raise
    return command  # type: ignore[no-any-return]


def load_default(path: str, group: CommandGroup, default: str) -> click.Command:
    """Import the default command of a group. Its help also lists the other commands of the group."""
    command = load_command(path, group.commands[default])
    others = {name: entry.help for name, entry in group.commands.items() if name != default}
    width = max(map(len, others), default=0)
    lines = (f"  {name:<{width}}  {text}" for name, text in others.items())
    command.epilog = "\n".join(("\b", f"Commands of `{PROGRAM} {path}`:", *lines))
    return command


def raise_if_extra_missing(path: str, entry: Command, error: ModuleNotFoundError) -> None:
    """Raise UsageError if the missing module belongs to the extra that the command needs."""
    if entry.extra is None or error.name is None or error.name.partition(".")[0] in OWN_PACKAGES:
        return
    missing = f"`chatproof {path}` needs {error.name}, which is not installed"
    line = f"{missing}: install chatproof with its extra [{entry.extra}]"
    raise click.UsageError(line) from error
