"""The `chatproof` command, and the functions `check` and `judge`. Other packages are imported when they are used."""

from __future__ import annotations

import sys

try:
    import importlib
    import io
    import os
    import signal
    from contextlib import ExitStack, contextmanager
    from dataclasses import dataclass
    from pathlib import Path
    from typing import TYPE_CHECKING, Any, TextIO

    import click
except KeyboardInterrupt:  # Ctrl-C right after the start
    sys.stderr.write("chatproof: interrupted\n")
    raise SystemExit(130) from None

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

    from conformance.cli.library import check as check
    from conformance.cli.library import judge as judge
    from conformance.errors import Unreachable as Unreachable
    from conformance.errors import UsageError as UsageError
    from conformance.report.verdict import Outcome as Outcome
    from conformance.report.verdict import Report as Report
    from conformance.report.verdict import Verdict as Verdict
    from conformance.run.embedded_server import EmbeddedServer
    from openapi.contract.contract import Contract

HELP_OPTIONS = ("-h", "--help")
CONTEXT_SETTINGS = {"help_option_names": HELP_OPTIONS}
PROGRAM = "chatproof"
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
OWN_PACKAGES = ("conformance", "loadtests", "openapi", "reference_server")
PUBLIC = {
    **dict.fromkeys(("check", "judge"), "conformance.cli.library"),
    **dict.fromkeys(("Outcome", "Report", "Verdict"), "conformance.report.verdict"),
    **dict.fromkeys(("Unreachable", "UsageError"), "conformance.errors"),
}
"""The names that users of Python import from this module, and the modules that define them."""


@dataclass(frozen=True, slots=True)
class Command:
    """Where a command is defined (`module:attribute`), its one-line help, and the extra it needs."""

    location: str
    help: str
    extra: str | None = None


@dataclass(frozen=True, slots=True)
class CommandGroup:
    """A group of commands and its one-line help. `default` is the command to run if none is named."""

    help: str
    commands: Mapping[str, Command]
    default: str | None = None


COMMANDS: Mapping[str, Command | CommandGroup] = {
    "check": Command("conformance.cli.check_command:check", "Test a chat-completions server for conformance."),
    "judge": Command("conformance.cli.recorded_run_commands:judge", "Judge a recorded run again, offline."),
    "replay": Command("conformance.cli.recorded_run_commands:replay_one", "Send one recorded request again."),
    "explain": Command(
        "conformance.cli.guidance.explain_command:explain", "Explain a requirement and how to fix a server."
    ),
    "load": CommandGroup(
        "Load-test a chat-completions server.",
        {
            "run": Command("loadtests.cli.load_command:load", "Run a load test (the default command).", "load"),
            "search": Command(
                "loadtests.cli.search_command:search", "Find the highest rate that meets the objectives.", "load"
            ),
            "compare": Command("loadtests.cli.compare_command:compare", "Compare two load tests.", "load"),
            "calibrate": Command(
                "loadtests.cli.calibrate_command:calibrate",
                "Calibrate the timer against a server with known timings.",
                "load",
            ),
        },
        default="run",
    ),
    "diff": Command("conformance.cli.recorded_run_commands:diff_results", "Compare two results files."),
    "matrix": Command(
        "conformance.cli.comparison.matrix_command:matrix", "Compare deployments, and the runs of each one."
    ),
    "serve": Command("reference_server.serve_command:command", "Serve a model with the API of a dialect.", "server"),
    "spec": CommandGroup(
        "Work with the contract: OpenAPI descriptions, vendor documents, differences.",
        {
            "build": Command("openapi.spec_commands:build_specs", "Write every dialect as OpenAPI 3.2 and 3.1."),
            "diff": Command("openapi.spec_commands:diff", "Show what changes for a client between two dialects."),
            "matrix": Command("openapi.spec_commands:print_matrix", "Compare all dialects, parameter by parameter."),
            "trace": Command(
                "conformance.cli.trace_command:command", "Show which check covers each sentence of the documents."
            ),
            "prove": Command(
                "conformance.proof.sentences.prove_command:command",
                "Prove that each sentence's checks report servers that break it.",
                "server",
            ),
            "read": Command("openapi.reading.reading_commands:read", "Extract the facts from a vendor's page."),
            "drift": Command("openapi.reading.reading_commands:drift", "Compare a vendor's page with a dialect."),
        },
    ),
    "dialect": CommandGroup(
        "Bring your own dialect: import, check and document a vendor's API.",
        {
            "new": Command(
                "openapi.importing.dialect_commands:new", "Write a dialect file from an OpenAPI description or a page."
            ),
            "docs": Command("openapi.importing.dialect_commands:docs", "Render the reference page of a dialect."),
            "check": Command(
                "conformance.cli.dialect_check_command:check_dialect",
                "Validate a dialect file, and judge its reference server.",
                "server",
            ),
            "schema": Command("openapi.schema_command:print_schema", "Print the JSON Schema of dialect files."),
        },
    ),
    "faults": CommandGroup(
        "Test the suite with known faults of real servers.",
        {
            "list": Command(
                "reference_server.faults.fault_list:list_faults",
                "List the faults and the bugs that they reproduce.",
                "server",
            ),
            "run": Command("conformance.proof.faults_command:run", "Run the suite against every fault.", "server"),
            "depths": Command(
                "conformance.proof.depths.depths_command:depths",
                "Measure which faults a run of each depth detects.",
                "server",
            ),
            "findings": Command(
                "conformance.proof.findings.findings_command:findings",
                "Measure how clearly a report names the fault of a server.",
                "server",
            ),
            "repeats": Command(
                "conformance.proof.correct_servers.repeats_command:repeats",
                "Judge a correct server again and again.",
                "server",
            ),
            "modes": Command(
                "conformance.proof.correct_servers.modes_command:modes",
                "Run the suite against every mode of the server.",
                "server",
            ),
            "contracts": Command(
                "conformance.proof.contracts.contracts_command:command",
                "Run the suite and the server with contracts drawn at random.",
                "server",
            ),
            "serve": Command(
                "reference_server.faults.fault_host:command", "Serve every fault at its own path.", "server"
            ),
        },
    ),
    "checks": CommandGroup(
        "List and explain the checks of the suite.",
        {
            "list": Command("conformance.cli.checks_command:list_checks", "List every check with its claim."),
            "show": Command("conformance.cli.checks_command:show_check", "Show one check and its sources."),
        },
    ),
    "init": Command("openapi.command_options.config_commands:init", "Write a chatproof.toml to begin with."),
    "config": CommandGroup(
        "Show the options that chatproof.toml and CHATPROOF_* variables set.",
        {
            "show": Command(
                "openapi.command_options.config_commands:show", "Show every option with its value and its origin."
            ),
            "schema": Command(
                "openapi.command_options.config_commands:print_schema", "Print the JSON Schema of chatproof.toml."
            ),
        },
    ),
    "completion": Command(
        "conformance.cli.guidance.completion:completion", "Print the script of completion for a shell."
    ),
}


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
            command = _load_default(self._path(name, ctx), entry, entry.default)
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
        _make_streams_safe()
        signal.signal(signal.SIGTERM, _interrupt)
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
                _raise_if_extra_missing(self._path(name, ctx), command, error)
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names in the order in which a user needs them."""
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command, or return a group without importing its commands."""
        entry = self._entries.get(cmd_name)
        if isinstance(entry, CommandGroup):
            return LazyGroup(entry.commands, entry.default, name=cmd_name, help=entry.help)
        return None if entry is None else _load(self._path(cmd_name, ctx), entry)

    def _path(self, name: str, ctx: click.Context) -> str:
        """The command as the user types it, including its group."""
        return name if ctx.parent is None else f"{self.name} {name}"

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from `COMMANDS`, so that `--help` imports no package."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self._entries.items()])


class SafeStream(io.FileIO):
    """Standard output or error that discards what is written after its reader has closed the pipe.

    The exit code of the command is then the same as with a reader.
    """

    def write(self, data: Any) -> int:
        """Write like a file. Raises UsageError once if the device is full; later output is discarded."""
        if not data:  # click writes an empty string to find out whether a stream takes text or bytes
            return 0
        try:
            return super().write(data)
        except OSError as error:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            if not isinstance(error, BrokenPipeError):
                raise click.UsageError(f"cannot write the output: {error.strerror}") from error
            return super().write(data)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Handle SIGTERM, which cancelled pipelines send, like Ctrl-C.

    Shells ignore SIGINT in background processes; SIGTERM must end the command there too.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.default_int_handler(number, frame)
    signal.raise_signal(signal.SIGINT)


def _make_streams_safe() -> None:
    """Make stdout and stderr safe if they are closed, have lost their reader, or cannot encode a character."""
    for number in range(3):  # in this order: an opened file takes the lowest free number
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = _safe_stream(sys.stdout, 1)
    sys.stderr = _safe_stream(sys.stderr, 2)


def _safe_stream(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:  # it was closed when Python started
        return open(number, "w", encoding="utf-8", closefd=False)
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")  # write \uXXXX for characters that the encoding lacks
    buffer = stream.buffer  # the file itself if Python does not buffer
    if type(getattr(buffer, "raw", buffer)) is not io.FileIO:
        return stream
    safe = SafeStream(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(safe) if isinstance(buffer, io.BufferedWriter) else safe,
        stream.encoding,
        stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _format_error(error: click.ClickException) -> str:
    """Return an error on one line; the user's mistakes with the command that prints the help."""
    message = " ".join(error.format_message().split())
    context = error.ctx if isinstance(error, PARSING_ERRORS) else None
    if context is None or not context.help_option_names:
        return message
    return f"{message.removesuffix('.')} (see `{context.command_path} {context.help_option_names[-1]}`)"


def _suggestion(word: str, known: Mapping[str, object]) -> str:
    from openapi.did_you_mean import suggest

    return suggest(word, known)


def _load(path: str, entry: Command) -> click.Command:
    """Import a command. Raises UsageError if its extra is not installed. path: the command as the user types it."""
    module, _, attribute = entry.location.partition(":")
    try:
        command: Any = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        _raise_if_extra_missing(path, entry, error)
        raise
    return command  # type: ignore[no-any-return]


def _configure(ctx: click.Context, name: str, command: click.Command | None) -> None:
    """Let the configuration file and environment variables set the options of a command."""
    if command is None or isinstance(command, click.Group):
        return
    from openapi.command_options import config_file

    config_file.connect_options(command)
    if ctx.parent is None and name in config_file.COMMANDS:
        ctx.default_map = {**(ctx.default_map or {}), name: config_file.read_defaults(command, name)}


def _load_default(path: str, group: CommandGroup, default: str) -> click.Command:
    """Import the default command of a group. Its help also lists the other commands of the group."""
    command = _load(path, group.commands[default])
    others = {name: entry.help for name, entry in group.commands.items() if name != default}
    width = max(map(len, others), default=0)
    lines = (f"  {name:<{width}}  {text}" for name, text in others.items())
    command.epilog = "\n".join(("\b", f"Commands of `{PROGRAM} {path}`:", *lines))
    return command


def _raise_if_extra_missing(path: str, entry: Command, error: ModuleNotFoundError) -> None:
    """Raise UsageError if the missing module belongs to the extra that the command needs."""
    if entry.extra is None or error.name is None or error.name.partition(".")[0] in OWN_PACKAGES:
        return
    missing = f"`chatproof {path}` needs {error.name}, which is not installed"
    line = f"{missing}: install chatproof with its extra [{entry.extra}]"
    raise click.UsageError(line) from error


@click.group(cls=LazyGroup, entries=COMMANDS)
@click.version_option(package_name="chatproof", prog_name="chatproof")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Test chat-completions servers for conformance with the documents of their vendors."""
    ctx.obj = _start_embedded


class InternalError(click.ClickException):
    """A failure of chatproof itself: the embedded server does not start."""

    exit_code = 5  # as in the suite


@contextmanager
def _start_embedded(contract: Contract) -> Iterator[EmbeddedServer]:
    """Start the embedded server for commands of packages that may not import it.

    Only this module imports several packages; the load tests receive this function and use the URL it yields.
    """
    from conformance.errors import HarnessError, UsageError
    from conformance.run.embedded_server import serve

    with ExitStack() as running:
        try:
            server = running.enter_context(serve(contract))
        except HarnessError as error:
            raise (click.UsageError if isinstance(error, UsageError) else InternalError)(str(error)) from error
        yield server


def import_own_packages() -> None:
    """Import the packages that are installed with this module, whatever other packages of their names are on the path.

    Raises ImportError if a package of another distribution is already imported under one of these names.
    """
    folder = Path(__file__).resolve().parent
    sys.path.insert(0, str(folder))
    try:
        for name in ("openapi", "conformance"):
            found_at = importlib.import_module(name).__file__
            if found_at is None or Path(found_at).resolve().parent.parent != folder:
                raise ImportError(f"chatproof needs its package {name}, but {found_at} is already imported")
    finally:
        sys.path.remove(str(folder))


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'chatproof' has no attribute {name!r}")
    import_own_packages()
    return getattr(importlib.import_module(PUBLIC[name]), name)


if __name__ == "__main__":
    main()
