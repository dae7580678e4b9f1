"""The checks of a load test before anything is sent or written: of Locust, the options, the folders and the server."""

from __future__ import annotations

from argparse import Namespace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from loadtests.cli.locust_arguments import split_arguments
from loadtests.cli.reachability import check_listening, wait_until_ready
from loadtests.errors import UnreachableError, UsageError
from loadtests.report.extra_reports import parse_reports
from loadtests.run.options import OPTIONS
from loadtests.run.report_folder import prepare_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loadtests.run.settings import LoadSettings

PLACEHOLDER_URL: Final = "http://127.0.0.1"
"""Used to check the options before the embedded server has an address."""
DISTRIBUTED: Final = ("--master", "--worker")
"""Options of Locust with which other machines send the load; they may reach a server that this machine cannot reach."""


def require_locust() -> None:
    """Raise click.UsageError without Locust, before anything is sent or written."""
    if find_spec("locust") is None:
        raise click.UsageError(
            "`chatproof load` needs locust, which is not installed: install chatproof with its extra [load]"
        )


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
