"""The door: one console command. Each subcommand opens one room, and nothing is imported before it is asked for."""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

    from conformance.run.embedded_server import Embedded
    from openapi.contract.contract import Contract

HELP_NAMES = ("-h", "--help")
HELP = {"help_option_names": HELP_NAMES}
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
OURS = ("conformance", "loadtests", "openapi", "reference_server")


@dataclass(frozen=True, slots=True)
class Room:
    """Where a command lives (`module:attribute`), its line in the help, and the extra that it needs."""

    place: str
    line: str
    extra: str | None = None


@dataclass(frozen=True, slots=True)
class Floor:
    """A group of commands, and its line in the help. `default`: the command that is meant where none is named."""

    line: str
    rooms: Mapping[str, Room]
    default: str | None = None


DOOR: Mapping[str, Room | Floor] = {
    "check": Room("conformance.cli.check_command:check", "Judge a chat-completions server."),
    "judge": Room("conformance.cli.recorded_run_commands:judge", "Judge a recorded run again, offline."),
    "replay": Room("conformance.cli.recorded_run_commands:replay_one", "Send one exchange of a recorded run again."),
    "load": Floor(
        "Load-test a chat-completions server.",
        {
            "run": Room("loadtests.cli.load_command:load", "Run a load test (the default command).", "load"),
            "search": Room("loadtests.cli.search_command:search", "The highest rate whose objectives hold.", "load"),
            "compare": Room("loadtests.cli.compare_command:compare", "What changed between two load tests.", "load"),
            "calibrate": Room(
                "loadtests.cli.calibrate_command:calibrate", "Hold our clock against a known schedule.", "load"
            ),
        },
        default="run",
    ),
    "diff": Room("conformance.cli.recorded_run_commands:diff_results", "What moved between two results files."),
    "serve": Room("reference_server.serve_command:command", "Serve a model with the API of a dialect.", "server"),
    "spec": Floor(
        "The contract: its descriptions and where they come from.",
        {
            "build": Room("openapi.spec_commands:build_specs", "Write every dialect as OpenAPI 3.2 and 3.1."),
            "diff": Room("openapi.spec_commands:diff", "What changes for a client between two dialects or versions."),
            "matrix": Room("openapi.spec_commands:print_matrix", "Every parameter and answer, dialect by dialect."),
            "trace": Room(
                "conformance.cli.trace_command:command", "Every sentence of the documents, and what watches over it."
            ),
            "read": Room("openapi.reading.reading_commands:read", "Read a vendor's page into facts."),
            "drift": Room("openapi.reading.reading_commands:drift", "Hold a vendor's page against a dialect."),
        },
    ),
    "faults": Floor(
        "Misbehaviours of real servers, shown on purpose: the proof that every check can fail.",
        {
            "list": Room(
                "reference_server.faults.fault_list:list_faults", "Every fault, and the bugs it stands for.", "server"
            ),
            "run": Room("conformance.proof.faults_command:run", "Run the suite against every fault.", "server"),
            "serve": Room("reference_server.faults.fault_host:command", "Serve every fault at its own path.", "server"),
        },
    ),
    "checks": Floor(
        "The checks of the suite.",
        {
            "list": Room("conformance.cli.checks_command:list_checks", "Every check with its claim."),
            "show": Room("conformance.cli.checks_command:show_check", "Show one check and its sources."),
        },
    ),
}


class Lazy(click.Group):
    """A group that imports a command's module when the command is run, not when the help lists it."""

    def __init__(self, rooms: Mapping[str, Room | Floor], default: str | None = None, **settings: Any) -> None:
        super().__init__(context_settings=HELP, no_args_is_help=True, **settings)
        self._rooms = rooms
        self._default = default

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name. A floor's default goes by the floor's name, as the user wrote it."""
        name, rest = args[0], args[1:]
        found = self._rooms.get(name)
        if found is None:
            raise click.UsageError(f"No such command {name!r}{_meant(name, self._rooms)}", ctx)
        if isinstance(found, Floor) and found.default and not (rest and rest[0] in {*found.rooms, *HELP_NAMES}):
            word = rest[0] if rest else ""
            if word.isalpha() and (question := _meant(word, found.rooms)):
                line = f"{name!r} has no command {word!r}{question} A server of that name is http://{word}"
                raise click.UsageError(line, ctx)
            return name, _open(self._path(name, ctx), found.rooms[found.default]), rest
        return super().resolve_command(ctx, args)

    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        """The whole command line, as a process of its own."""
        _open_streams()
        signal.signal(signal.SIGTERM, _called_off)
        return super().__call__(*arguments, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; an interrupt that it has no words for ends it with one line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("chatproof: interrupted", err=True)
            raise SystemExit(INTERRUPTED) from None
        except ModuleNotFoundError as error:  # what a command imports only when it runs
            name = ctx.invoked_subcommand or ""
            found = self._rooms.get(name)
            room = found.rooms[found.default] if isinstance(found, Floor) and found.default else found
            if isinstance(room, Room):
                _refuse_missing(self._path(name, ctx), room, error)
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order of the flow."""
        return list(self._rooms)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Opens the room of a command."""
        found = self._rooms.get(cmd_name)
        if isinstance(found, Floor):
            return Lazy(found.rooms, found.default, name=cmd_name, help=found.line)
        return None if found is None else _open(self._path(cmd_name, ctx), found)

    def _path(self, name: str, ctx: click.Context) -> str:
        """A command as it is typed, behind the floor that it is on."""
        return name if ctx.parent is None else f"{self.name} {name}"

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands from their lines here, so that the help opens no room."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.line) for name, each in self._rooms.items()])


class Outlet(io.FileIO):
    """A stream of which the rest is said to nobody once its reader has left: the exit code is as it would have been."""

    def write(self, data: Any) -> int:
        """As a file's. Raises UsageError where there is no room, once: what follows is said to nobody."""
        if not data:  # click asks so what a stream takes, and no answer says that it takes nothing
            return 0
        try:
            return super().write(data)
        except OSError as error:
            nobody = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nobody, self.fileno())
            os.close(nobody)
            if not isinstance(error, BrokenPipeError):
                raise click.UsageError(f"cannot write what is to be printed: {error.strerror}") from error
            return super().write(data)


def _called_off(number: int, frame: FrameType | None) -> None:
    """Pipelines that are called off send SIGTERM: it is an interrupt like that of a terminal, and so ends as well; also
    where that of a terminal is ignored, as shells have it for what runs in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.default_int_handler(number, frame)
    signal.raise_signal(signal.SIGINT)


def _open_streams() -> None:
    """What is printed can always be printed: where nobody reads it, or it is closed, or its encoding lacks a letter."""
    for number in range(3):  # in this order, because a file that is opened takes the first number that is free
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = _outlet(sys.stdout, 1)
    sys.stderr = _outlet(sys.stderr, 2)


def _outlet(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:  # it was closed
        return open(number, "w", encoding="utf-8", closefd=False)  # it has no path
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")  # where the encoding lacks a character, its number is told
    buffer = stream.buffer  # the file itself where Python does not buffer
    if type(getattr(buffer, "raw", buffer)) is not io.FileIO:
        return stream
    outlet = Outlet(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(outlet) if isinstance(buffer, io.BufferedWriter) else outlet,
        stream.encoding,
        stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _meant(word: str, known: Mapping[str, object]) -> str:
    from openapi.did_you_mean import meant

    return meant(word, known)


def _open(path: str, room: Room) -> click.Command:
    """The command of a room; raises UsageError where its extra is missing. path: what stands behind `chatproof`."""
    module, _, attribute = room.place.partition(":")
    try:
        command: Any = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        _refuse_missing(path, room, error)
        raise
    return command  # type: ignore[no-any-return]


def _refuse_missing(path: str, room: Room, error: ModuleNotFoundError) -> None:
    """Raises UsageError for a module of the extra that the room needs."""
    if room.extra is None or error.name is None or error.name.partition(".")[0] in OURS:
        return
    raise click.UsageError(f"`chatproof {path}` needs {error.name}: pip install 'chatproof[{room.extra}]'") from error


@click.group(cls=Lazy, rooms=DOOR)
@click.version_option(package_name="chatproof", prog_name="chatproof")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Judge chat-completions servers by the documents of their vendors."""
    ctx.obj = _embedded


class OwnError(click.ClickException):
    """What is nobody else's fault: the embedded server does not start."""

    exit_code = 5  # as in the suite


@contextmanager
def _embedded(contract: Contract) -> Iterator[Embedded]:
    """The embedded server for rooms that may not know it: they know a URL, and only the door knows all rooms."""
    from conformance.errors import HarnessError, UsageError
    from conformance.run.embedded_server import serve

    with ExitStack() as running:
        try:
            server = running.enter_context(serve(contract))
        except HarnessError as error:
            raise (click.UsageError if isinstance(error, UsageError) else OwnError)(str(error)) from error
        yield server


if __name__ == "__main__":
    main()
