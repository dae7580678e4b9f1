"""`chatproof load`: run Locust with the locustfile and better defaults, against a URL or the embedded server."""

from __future__ import annotations

import math
import os
import signal
import subprocess
from argparse import Namespace
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from loadtests.cli.locust_arguments import split_arguments
from loadtests.cli.reachability import check_listening, wait_until_ready
from loadtests.errors import UnreachableError, UsageError
from loadtests.report.extra_reports import parse_reports
from loadtests.report.results import INTERNAL_ERROR, INTERRUPTED
from loadtests.run.options import OPTIONS, value_type
from loadtests.run.report_folder import prepare_folder
from openapi.command_options.duration import Duration, format_duration
from openapi.python_child import python_command, python_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from typing import Protocol

    from loadtests.run.settings import LoadSettings
    from openapi.contract.contract import Contract

    class Served(Protocol):
        """A running server."""

        @property
        def url(self) -> str: ...
        @property
        def key(self) -> str: ...

    Embedder = Callable[[Contract], AbstractContextManager[Served]]


LOCUSTFILE: Final = Path(__file__).parents[1] / "locustfile.py"
OUT: Final = "load-report"
LOCUST_EXTRA_S: Final = 60
"""How much later Locust's own time limit is than that of the test, which counts from the first request."""
PLACEHOLDER_URL: Final = "http://127.0.0.1"
"""Used to check the options before the embedded server has an address."""
KEY_VARIABLE: Final = "CHATPROOF_LOAD_KEY"
DISTRIBUTED: Final = ("--master", "--worker")
"""Options of Locust with which other machines send the load; they may reach a server that this machine cannot reach."""


def add_load_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of the locustfile to a command."""
    for option in reversed(OPTIONS):
        names = [f"--{option.shared}"] if option.shared else []
        names += [f"--{option.name}", option.name.replace("-", "_")]
        if option.default is False:
            decorate = click.option(*names, is_flag=True, help=option.help)
        elif option.is_duration:
            decorate = click.option(
                *names,
                default=format_duration(option.default),
                show_default=True,
                type=Duration(),
                metavar="TIME",
                help=option.help.replace(", seconds", ""),
            )
        else:
            decorate = click.option(
                *names,
                default=OUT if option.name == "out" else option.default or None,
                show_default=True,
                multiple=option.default == (),
                type=click.Choice(option.choices)
                if option.choices
                else str
                if option.default == ()
                else value_type(option),
                metavar=None if option.choices else option.metavar,
                help=option.help,
            )
        command = decorate(command)
    return command


wait_option = click.option(
    "--wait",
    default=0.0,
    type=Duration(),
    metavar="TIME",
    help="Maximum time to wait for a server that is still starting (default: none).",
)


def format_options(values: dict[str, Any]) -> Iterator[str]:
    """Yield the options of the load test as arguments for Locust."""
    for option in OPTIONS:
        value = values.get(option.name.replace("-", "_"))
        if value is True:
            yield f"--{option.name}"
        elif value is not None and value is not False:
            for item in value if isinstance(value, tuple) else (value,):
                yield f"--{option.name}={item}"


@click.command(
    name="load",
    context_settings={"help_option_names": ["-h", "--help"], "ignore_unknown_options": True, "allow_extra_args": True},
)
@click.argument("url", required=False)
@click.option(
    "--users", default=10, show_default=True, type=click.IntRange(1), help="Number of users of a closed loop."
)
@click.option(
    "--time",
    "seconds",
    default="30s",
    show_default=True,
    type=Duration(positive=True),
    metavar="TIME",
    help="Measured time, such as 90s, 5m or 1h30m.",
)
@click.option(
    "--warm-up", default="2s", show_default=True, type=Duration(), metavar="TIME", help="Time before the measurement."
)
@click.option("--web", is_flag=True, help="Start Locust's web interface on 127.0.0.1 instead of a test.")
@wait_option
@add_load_options
@click.argument("more", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def load(
    embedded: Embedder | None,
    /,
    url: str | None,
    users: int,
    seconds: float,
    warm_up: float,
    web: bool,
    wait: float,
    more: tuple[str, ...],
    **options: Any,
) -> None:
    """Load-test a chat-completions server, or the embedded server if no URL is given.

    Options of Locust are accepted too, such as `--processes 2` or `--html FILE`; see `locust --help`.
    """
    require_locust()
    url, more = parse_locust_arguments(url, more)
    require_dialect(url)
    check_places(options["out"], options.get("report", ()))
    arguments = [
        *("-f", str(LOCUSTFILE)),
        *("--seconds", str(seconds), "--warm-up", str(warm_up)),
        *("--users", str(users), "--spawn-rate", str(max(1.0, users / max(0.5, warm_up / 2)))),
        *("--loglevel", "WARNING", "--stop-timeout", "0"),
        *(("--web-host", "127.0.0.1") if web else ("--headless", "--run-time", locust_time_limit(seconds + warm_up))),
        *format_options(options),
        *(("--csv", str(Path(options["out"]) / "locust")) if options["out"] else ()),
        *more,
    ]
    values = {
        **options,
        "seconds": seconds,
        "warm_up": warm_up,
        "num_users": users,
        "host": PLACEHOLDER_URL if url is None else url,
    }
    if url is None:  # otherwise Locust's process checks the options: doing it twice would delay the first request
        check_options(values)
    elif wait or not web:
        check_server(url, values, wait, more)
    with ExitStack() as stack:
        environment = dict(os.environ)
        arguments += server_arguments(stack, embedded, url, options["dialect"], environment)
        raise SystemExit(run_locust(arguments, environment))


def require_locust() -> None:
    """Raise click.UsageError without Locust, before anything is sent or written."""
    if find_spec("locust") is None:
        raise click.UsageError(
            "`chatproof load` needs locust, which is not installed: install chatproof with its extra [load]"
        )


def locust_time_limit(seconds: float) -> str:
    """Return Locust's own time limit for a test of this duration."""
    return f"{math.ceil(seconds) + LOCUST_EXTRA_S}s"


def parse_locust_arguments(url: str | None, more: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """Return the URL and the arguments for Locust. Raise click.UsageError for the first that Locust would reject."""
    try:
        return split_arguments(url, more)
    except UsageError as error:
        raise click.UsageError(str(error)) from error


def require_dialect(url: str | None) -> None:
    """Raise click.UsageError for a server of the user without --dialect; only the embedded server has a default."""
    context = click.get_current_context()
    if url is not None and context.get_parameter_source("dialect") is ParameterSource.DEFAULT:
        from openapi.contract.contract import describe_missing

        raise click.UsageError(describe_missing())


def check_places(out: str | None, reports: Iterable[str]) -> None:
    """Raise click.UsageError if reports cannot be written; Locust, which writes there too, would print a traceback."""
    try:
        parse_reports(reports)
        if out:
            prepare_folder(out)
    except UsageError as error:
        raise click.UsageError(str(error)) from error


def check_options(values: dict[str, Any]) -> LoadSettings:
    """Return the settings. Raise click.UsageError for invalid options, before any server or process is started."""
    from loadtests.run.settings import build_settings
    from loadtests.shape.workload import Workload

    try:
        defaults = {option.name.replace("-", "_"): option.default for option in OPTIONS}
        given = {name: value for name, value in values.items() if value is not None}
        settings = build_settings(Namespace(**defaults | given))
        Workload(settings.contract, settings.scenario, settings.model, settings.seed)
    except UsageError as error:
        raise click.UsageError(str(error)) from error
    return settings


def check_server(url: str, values: dict[str, Any], wait_s: float, more: tuple[str, ...]) -> None:
    """Warn if the server does not listen; the test will count its failures. With `wait_s`, wait until it has started.

    Raise click.ClickException, for exit code 1, if it does not start in that time, and click.UsageError for invalid
    options.
    """
    try:
        if wait_s:
            wait_until_ready(check_options(values), wait_s)
        elif not {*DISTRIBUTED} & {*more}:
            check_listening(url)
    except UsageError as error:
        raise click.UsageError(str(error)) from error
    except UnreachableError as error:
        if wait_s:
            raise click.ClickException(str(error)) from error
        click.echo(f"{error}; starting the test anyway, failed requests are counted", err=True)


def server_arguments(
    stack: ExitStack, embedded: Embedder | None, url: str | None, dialect: str, environment: dict[str, str]
) -> list[str]:
    """Return the arguments that name the server: at the URL, else the embedded one.

    The embedded server runs as long as the stack is open, and its key is passed in the environment.
    """
    if url is not None:
        return ["--host", url]
    if embedded is None:
        raise click.UsageError("missing argument: pass the URL of the server")
    from openapi.contract.contract import ContractError
    from openapi.contract.contract import load as load_contract

    try:
        contract = load_contract(dialect)
        click.echo("No URL given: starting the embedded server.", err=True)
        server = stack.enter_context(embedded(contract))
    except ContractError as error:
        raise click.UsageError(f"--dialect: {error}") from error
    if not server.key:
        return ["--host", server.url]
    environment[KEY_VARIABLE] = server.key
    return ["--host", server.url, "--api-key-env", KEY_VARIABLE]


def run_locust(arguments: list[str], environment: dict[str, str], *, quiet: bool = False) -> int:
    """Run Locust in a child process and return its exit code.

    The child has its own session, and one interrupt or hang-up is forwarded to it, so that it ends its test and
    writes its reports. A second one kills it. quiet: hide its report, and return INTERRUPTED after an interrupt.
    """
    command = [*python_command("locust"), *arguments]
    output = subprocess.DEVNULL if quiet else None
    child = python_environment(environment)
    with subprocess.Popen(command, env=child, stdout=output, start_new_session=True) as process:  # noqa: S603
        interrupted = False

        def forward(_number: int, _frame: object) -> None:
            nonlocal interrupted
            process.send_signal(signal.SIGKILL if interrupted else signal.SIGTERM)
            interrupted = True

        handled = [signal.SIGINT, signal.SIGTERM]
        if (hang_up := getattr(signal, "SIGHUP", None)) and signal.getsignal(hang_up) is not signal.SIG_IGN:  # nohup
            handled.append(hang_up)
        before = {number: signal.signal(number, forward) for number in handled}
        try:
            code = process.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    if interrupted and quiet:
        return INTERRUPTED
    if code >= 0:
        return code
    if interrupted:
        click.echo("Interrupted before the test began.", err=True)
        return INTERRUPTED
    click.echo(f"chatproof: Locust was terminated by {signal.Signals(-code).name}.", err=True)
    return INTERNAL_ERROR
