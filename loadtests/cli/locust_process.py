"""The process of Locust: its time limit, the server that it tests, and its end."""

from __future__ import annotations

import math
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from loadtests.report.results import INTERNAL_ERROR, INTERRUPTED
from openapi.python_child import python_command, python_environment

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager, ExitStack
    from typing import Protocol

    from openapi.contract.contract import Contract

    class Served(Protocol):
        """A running server."""

        @property
        def url(self) -> str: ...
        @property
        def key(self) -> str: ...

    Embedder = Callable[[Contract], AbstractContextManager[Served]]

LOCUSTFILE: Final = Path(__file__).parents[1] / "locustfile.py"
LOCUST_EXTRA_S: Final = 60
"""How much later Locust's own time limit is than that of the test, which counts from the first request."""
KEY_VARIABLE: Final = "CHATPROOF_LOAD_KEY"


def locust_time_limit(seconds: float) -> str:
    """Return Locust's own time limit for a test of this duration."""
    return f"{math.ceil(seconds) + LOCUST_EXTRA_S}s"


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
