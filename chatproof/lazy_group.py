"""The group of all commands: it imports a command when it runs, and every error is one line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click

from chatproof.command_loading import PROGRAM, load_command, load_default, raise_if_extra_missing
from chatproof.command_table import Command, CommandGroup
from chatproof.process_start import prepare_process

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HELP_OPTIONS: Final = ("-h", "--help")
CONTEXT_SETTINGS: Final = {"help_option_names": HELP_OPTIONS}
INTERRUPTED: Final = 130  # 128 + SIGINT, as shells report it


class UnknownCommand(click.UsageError):
    """The first word of the command line, or of a group, is not the name of a command."""


PARSING_ERRORS = (
    UnknownCommand,
    click.BadParameter,  # also missing parameters
    click.NoSuchOption,
    click.BadOptionUsage,
    click.BadArgumentUsage,
)
"""The errors that the help of a command explains."""


class LazyGroup(click.Group):
    """A click group that imports a command's module when the command runs, not when the help lists it."""

    def __init__(
        self, entries: Mapping[str, Command | CommandGroup], default: str | None = None, **settings: Any
    ) -> None:
        super().__init__(context_settings=CONTEXT_SETTINGS, no_args_is_help=True, **settings)
        self._entries = entries
        self._default = default

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name. A default command runs under the name of its group."""
        name, rest = args[0], args[1:]
        entry = self._entries.get(name)
        if entry is None:
            raise UnknownCommand(f"No such command {name!r}{_suggestion(name, self._entries)}", ctx)
        if isinstance(entry, CommandGroup) and entry.default and not (rest and rest[0] in entry.commands):
            word = rest[0] if rest else ""
            if word.isalpha() and (suggestion := _suggestion(word, entry.commands)):
                line = (
                    f"{name!r} has no command {word!r}{suggestion} To test a server of that name, write http://{word}"
                )
                raise click.UsageError(line, ctx)
            command = load_default(self._path(name, ctx), entry, entry.default)
            resolved: tuple[str | None, click.Command | None, list[str]] = name, command, rest
        else:
            resolved = super().resolve_command(ctx, args)
        _configure(ctx, name, resolved[1])
        return resolved

    def main(self, args: Any = None, prog_name: str | None = None, *rest: Any, **settings: Any) -> Any:
        """Run the command line. Every error is one line that begins with the name of the program."""
        run: Any = super().main
        if not settings.pop("standalone_mode", True):
            return run(args, prog_name, *rest, standalone_mode=False, **settings)
        try:
            code = run(args, PROGRAM, *rest, standalone_mode=False, **settings)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(error.exit_code)
        except click.ClickException as error:
            click.echo(f"{PROGRAM}: {_format_error(error)}", err=True)
            sys.exit(error.exit_code)
        except click.Abort:
            click.echo(f"{PROGRAM}: interrupted", err=True)
            sys.exit(INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        """Run the command line as the process's main program."""
        prepare_process()
        return super().__call__(*arguments, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. If it does not handle an interrupt itself, print one line and exit with 130."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("chatproof: interrupted", err=True)
            raise SystemExit(INTERRUPTED) from None
        except ModuleNotFoundError as error:  # a module that the command imports only when it runs
            name = ctx.invoked_subcommand or ""
            entry = self._entries.get(name)
            command = entry.commands[entry.default] if isinstance(entry, CommandGroup) and entry.default else entry
            if isinstance(command, Command):
                raise_if_extra_missing(self._path(name, ctx), command, error)
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names in the order in which a user needs them."""
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or return a group without importing its commands."""
        entry = self._entries.get(cmd_name)
        if isinstance(entry, CommandGroup):
            return LazyGroup(entry.commands, entry.default, name=cmd_name, help=entry.help)
        return None if entry is None else load_command(self._path(cmd_name, ctx), entry)

    def _path(self, name: str, ctx: click.Context) -> str:
        """The command as the user types it, including its group."""
        return name if ctx.parent is None else f"{self.name} {name}"

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from `COMMANDS`, so that `--help` imports no package."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self._entries.items()])


def _format_error(error: click.ClickException) -> str:
    """Return an error on one line; the user's mistakes with the command that prints the help."""
    message = " ".join(error.format_message().split())
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        known = [name for item in error.ctx.command.get_params(error.ctx) for name in item.opts]
        message = f"No such option: {error.option_name}{_suggestion(error.option_name, known)}"
    context = error.ctx if isinstance(error, PARSING_ERRORS) else None
    if context is None or not context.help_option_names:
        return message
    return f"{message.removesuffix('.')} (see `{context.command_path} {context.help_option_names[-1]}`)"


def _suggestion(word: str, known: Iterable[str]) -> str:
    from openapi.did_you_mean import suggest

    return suggest(word, known)


def _configure(ctx: click.Context, name: str, command: click.Command | None) -> None:
    """Let the configuration file and environment variables set the options of a command."""
    if command is None or isinstance(command, click.Group):
        return
    from openapi.command_options import config_file

    config_file.connect_options(command)
    config_file.require_known_variables(command)
    if ctx.parent is None and name in config_file.COMMANDS:
        ctx.default_map = {**(ctx.default_map or {}), name: config_file.read_defaults(command, name)}
