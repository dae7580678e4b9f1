"""The door: one console command. Each subcommand opens one room, and nothing is imported before it is asked for."""

from __future__ import annotations

import importlib
from typing import Any

import click

ROOMS = {  # subcommand -> where it lives, and its line in the help
    "check": ("conformance.command:check", "Judge a chat-completions server."),
    "serve": ("reference_server.serving:command", "Serve a model with the API of a dialect."),
    "spec": ("openapi.command:spec", "Build the OpenAPI descriptions."),
    "checks": ("conformance.command:checks", "List the checks, or show one."),
}
EXTRAS = {"serve": "server"}  # what a room needs beside the plain installation
OURS = ("conformance", "openapi", "reference_server")


class Rooms(click.Group):
    """A group that imports a subcommand's room when the subcommand is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The subcommands, in the order of the flow."""
        return list(ROOMS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Opens the room of a subcommand."""
        return _open(cmd_name, ROOMS[cmd_name][0]) if cmd_name in ROOMS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of subcommands from their lines here, so that the help opens no room."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in ROOMS.items()])


def _open(name: str, place: str) -> click.Command:
    module, _, attribute = place.partition(":")
    try:
        command: Any = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in OURS or name not in EXTRAS:
            raise
        raise click.UsageError(
            f"`chatproof {name}` needs {error.name}: pip install 'chatproof[{EXTRAS[name]}]'"
        ) from error
    return command  # type: ignore[no-any-return]


@click.group(cls=Rooms, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="chatproof", prog_name="chatproof")
def main() -> None:
    """Judge chat-completions servers by the documents of their vendors."""


if __name__ == "__main__":
    main()
