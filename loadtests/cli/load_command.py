"""`chatproof load`: Locust with our locustfile and better defaults, against a URL or the embedded server."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
from argparse import Namespace
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from loadtests.cli.locust_arguments import sorted_out
from loadtests.cli.reachability import knock
from loadtests.cli.reachability import wait as wait_for
from loadtests.errors import UnreachableError, UsageError
from loadtests.report.results import OWN_ERROR
from loadtests.run import report_folder as folder
from loadtests.run.options import OPTIONS, kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from typing import Protocol

    from loadtests.run.settings import Settings
    from openapi.contract.contract import Contract

    class Served(Protocol):
        """A running server."""

        @property
        def url(self) -> str: ...
        @property
        def key(self) -> str: ...

    Embedder = Callable[[Contract], AbstractContextManager[Served]]


LOCUSTFILE: Final = Path(__file__).with_name("locustfile.py")
DURATION: Final = re.compile(r"\d+(?:\.\d+)?|(?:\d+(?:\.\d+)?(?:ms|s|m|h))+")
PART: Final = re.compile(r"([\d.]+)(ms|s|m|h)?")
SECONDS: Final = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}
OUT: Final = "load-report"
GUARD_S: Final = 60
"""Locust's own time limit is so much later than ours, which counts from the first request."""
SOMEWHERE: Final = "http://127.0.0.1"
"""Stands for the embedded server until it has its address."""
INTERRUPTED: Final = 130
KEY_VARIABLE: Final = "CHATPROOF_LOAD_KEY"
ELSEWHERE: Final = ("--master", "--worker")
"""Locust's options with which the load comes from other machines, who may reach a server that this one does not."""


class Duration(click.ParamType[float]):
    """A length of time as `500ms`, `60s`, `5m` or `1h30m`; `positive`: more than none."""

    name = "duration"

    def __init__(self, *, positive: bool = False) -> None:
        self._positive = positive

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        if isinstance(value, float | int):
            return float(value)
        text = str(value).strip()
        if DURATION.fullmatch(text) is None:
            self.fail(f"{value!r} is no duration; write for example 60s, 1m30s or 500ms", param, ctx)
        seconds = sum(float(number) * SECONDS[unit or None] for number, unit in PART.findall(text))
        if self._positive and not seconds:
            self.fail(f"{value!r} is no time at all; write for example 60s", param, ctx)
        return seconds


def our_options(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of the locustfile."""
    for option in reversed(OPTIONS):
        if option.default is False:
            made = click.option(f"--{option.name}", is_flag=True, help=option.help)
        else:
            made = click.option(
                f"--{option.name}",
                default=OUT if option.name == "out" else option.default or None,
                show_default=True,
                multiple=option.default == (),
                type=click.Choice(option.choices) if option.choices else str if option.default == () else kind(option),
                metavar=None if option.choices else option.metavar,
                help=option.help,
            )
        command = made(command)
    return command


waiting_option = click.option(
    "--wait", default=0.0, type=Duration(), metavar="SECONDS", help="Wait so long for a server that is still starting."
)


def given(ours: dict[str, Any]) -> Iterator[str]:
    """Our options as arguments for Locust."""
    for option in OPTIONS:
        value = ours.get(option.name.replace("-", "_"))
        if value is True:
            yield f"--{option.name}"
        elif value is not None and value is not False:
            for each in value if isinstance(value, tuple) else (value,):
                yield f"--{option.name}={each}"


@click.command(
    name="load",
    context_settings={"help_option_names": ["-h", "--help"], "ignore_unknown_options": True, "allow_extra_args": True},
)
@click.argument("url", required=False)
@click.option("--users", default=10, show_default=True, type=click.IntRange(1), help="Users of a closed loop.")
@click.option(
    "--time", "seconds", default="30s", show_default=True, type=Duration(positive=True), help="Measured time."
)
@click.option("--warm-up", default="2s", show_default=True, type=Duration(), help="Time before it, not measured.")
@click.option("--web", is_flag=True, help="Locust's web page on 127.0.0.1 instead of a run at once.")
@waiting_option
@our_options
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
    **ours: Any,
) -> None:
    """Load-test a chat-completions server, or the embedded one when no URL is given.

    Options of Locust may follow, such as `--processes 2` or `--html FILE`; `locust --help` lists them.
    """
    url, more = passed_on(url, more)
    writable(ours["out"])
    arguments = [
        *("-f", str(LOCUSTFILE)),
        *("--seconds", str(seconds), "--warm-up", str(warm_up)),
        *("--users", str(users), "--spawn-rate", str(max(1.0, users / max(0.5, warm_up / 2)))),
        *("--loglevel", "WARNING", "--stop-timeout", "0"),
        *(("--web-host", "127.0.0.1") if web else ("--headless", "--run-time", most_time(seconds + warm_up))),
        *given(ours),
        *(("--csv", str(Path(ours["out"]) / "locust")) if ours["out"] else ()),
        *more,
    ]
    values = {
        **ours,
        "seconds": seconds,
        "warm_up": warm_up,
        "num_users": users,
        "host": SOMEWHERE if url is None else url,
    }
    if url is None:  # else the child checks, who would have to anyway: to do it twice would delay the first request
        check(values)
    elif wait or not web:
        reach(url, values, wait, more)
    with ExitStack() as stack:
        environment = dict(os.environ)
        arguments += target(stack, embedded, url, ours["dialect"], environment)
        raise SystemExit(run(arguments, environment))


def most_time(seconds: float) -> str:
    """Locust's own time limit for a test that ours ends after so many seconds."""
    return f"{math.ceil(seconds) + GUARD_S}s"


def passed_on(url: str | None, more: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """The URL and the arguments for Locust. Raises click.UsageError with the first that Locust would refuse."""
    try:
        return sorted_out(url, more)
    except UsageError as error:
        raise click.UsageError(str(error)) from error


def writable(out: str | None) -> None:
    """Raises click.UsageError where reports cannot be written: Locust, who writes there too, would do so at length."""
    try:
        if out:
            folder.prepared(out)
    except UsageError as error:
        raise click.UsageError(str(error)) from error


def check(values: dict[str, Any]) -> Settings:
    """What the options mean. Raises click.UsageError for what cannot work, before any server or process is started."""
    from loadtests.run.settings import settings
    from loadtests.shape.workload import Workload

    try:
        defaults = {option.name.replace("-", "_"): option.default for option in OPTIONS}
        given_ones = {name: value for name, value in values.items() if value is not None}
        made = settings(Namespace(**defaults | given_ones))
        Workload(made.contract, made.scenario, made.model, made.seed)
    except UsageError as error:
        raise click.UsageError(str(error)) from error
    return made


def reach(url: str, values: dict[str, Any], wait_s: float, more: tuple[str, ...]) -> None:
    """Says before the test where nothing listens, which is then counted; with `wait_s`, waits for a server that starts.

    Raises click.ClickException, for exit code 1, where it does not come in that time, and click.UsageError.
    """
    try:
        if wait_s:
            wait_for(check(values), wait_s)
        elif not {*ELSEWHERE} & {*more}:
            knock(url)
    except UsageError as error:
        raise click.UsageError(str(error)) from error
    except UnreachableError as error:
        if wait_s:
            raise click.ClickException(str(error)) from error
        click.echo(f"{error}; the test goes on and counts what fails", err=True)


def target(
    stack: ExitStack, embedded: Embedder | None, url: str | None, dialect: str, environment: dict[str, str]
) -> list[str]:
    """The arguments that name the server: the one at the URL, else the embedded one, which lives as long as the stack
    does and whose key goes into the environment."""
    if url is not None:
        return ["--host", url]
    if embedded is None:
        raise click.UsageError("name the URL of the server to load")
    from openapi.contract.contract import ContractError
    from openapi.contract.contract import load as load_contract

    try:
        contract = load_contract(dialect)
        click.echo("No URL was named: starting the embedded server.", err=True)
        server = stack.enter_context(embedded(contract))
    except ContractError as error:
        raise click.UsageError(f"--dialect: {error}") from error
    if not server.key:
        return ["--host", server.url]
    environment[KEY_VARIABLE] = server.key
    return ["--host", server.url, "--api-key-env", KEY_VARIABLE]


def run(arguments: list[str], environment: dict[str, str], *, quiet: bool = False) -> int:
    """Runs Locust as a child and gives its exit code. An interrupt, or the end of the terminal, is passed on once,
    whoever else the terminal tells, so that the child ends its test and writes its reports. `quiet`: without its
    report, and INTERRUPTED is the code after an interrupt, whatever the child has measured until then."""
    if find_spec("locust") is None:
        raise click.UsageError("`chatproof load` needs locust: pip install 'chatproof[load]'")
    command = [sys.executable, "-m", "locust", *arguments]
    words = subprocess.DEVNULL if quiet else None
    with subprocess.Popen(command, env=environment, stdout=words, start_new_session=True) as process:  # noqa: S603
        told = False

        def end(_number: int, _frame: object) -> None:
            nonlocal told
            process.send_signal(signal.SIGKILL if told else signal.SIGTERM)
            told = True

        heard = [signal.SIGINT, signal.SIGTERM]
        if (hang_up := getattr(signal, "SIGHUP", None)) and signal.getsignal(hang_up) is not signal.SIG_IGN:  # nohup
            heard.append(hang_up)
        before = {each: signal.signal(each, end) for each in heard}
        try:
            code = process.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    if told and quiet:
        return INTERRUPTED
    if code >= 0:
        return code
    if told:
        click.echo("Interrupted before anything was measured.", err=True)
        return INTERRUPTED
    click.echo(f"Error: Locust was ended by {signal.Signals(-code).name}.", err=True)
    return OWN_ERROR
