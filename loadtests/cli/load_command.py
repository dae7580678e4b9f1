"""`chatproof load`: run Locust with the locustfile and better defaults, against a URL or the embedded server."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loadtests.cli.load_checks import (
    PLACEHOLDER_URL,
    check_options,
    check_places,
    check_server,
    parse_locust_arguments,
    require_dialect,
    require_locust,
)
from loadtests.cli.load_options import add_load_options, format_options, wait_option
from loadtests.cli.locust_process import LOCUSTFILE, locust_time_limit, run_locust, server_arguments
from openapi.command_options.duration import Duration

if TYPE_CHECKING:
    from loadtests.cli.locust_process import Embedder


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
