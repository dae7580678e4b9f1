"""`chatproof load`: Locust with our locustfile and better defaults, against a URL or the embedded server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import click

LOCUSTFILE: Final = Path(__file__).with_name("locustfile.py")
DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
SECONDS: Final = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}
STOP_S: Final = 10


class Duration(click.ParamType[float]):
    """A length of time as `500ms`, `60s`, `5m` or `1h`."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        if isinstance(value, float | int):
            return float(value)
        found = DURATION.fullmatch(str(value).strip())
        if found is None:
            self.fail(f"{value!r} is no duration; write for example 60s, 5m or 500ms", param, ctx)
        return float(found[1]) * SECONDS[found[2]]


@click.command(
    name="load",
    context_settings={"help_option_names": ["-h", "--help"], "ignore_unknown_options": True, "allow_extra_args": True},
)
@click.argument("url")
@click.option("--users", default=10, show_default=True, type=click.IntRange(1), help="Users of a closed loop.")
@click.option("--time", "seconds", default="30s", show_default=True, type=Duration(), help="Measured time.")
@click.option("--warm-up", default="2s", show_default=True, type=Duration(), help="Time before it, not measured.")
@click.option("--report", default="load.json", show_default=True, metavar="FILE", help="Results as JSON.")
@click.option("--web", is_flag=True, help="Locust's web page on 127.0.0.1 instead of a run at once.")
@click.argument("more", nargs=-1, type=click.UNPROCESSED)
def load(url: str, users: int, seconds: float, warm_up: float, report: str, web: bool, more: tuple[str, ...]) -> None:
    """Load-test a chat-completions server.

    All options of Locust and of our locustfile may follow: `chatproof load -- --help` lists them.
    """
    rate = "--rate" in " ".join(more) or "--trace" in " ".join(more)
    arguments = [
        *("-f", str(LOCUSTFILE), "--host", url, "--report", report),
        *("--seconds", str(seconds), "--warm-up", str(warm_up), "--run-time", f"{round(seconds + warm_up + 0.5)}s"),
        *("--users", "1" if rate else str(users), "--spawn-rate", str(max(1.0, users / max(0.5, warm_up / 2)))),
        *("--loglevel", "WARNING", "--stop-timeout", "0"),
        *(("--web-host", "127.0.0.1") if web else ("--headless",)),
        *more,
    ]
    raise SystemExit(run(arguments))


def run(arguments: list[str]) -> int:
    """Runs Locust as a child and gives its exit code; an interrupt reaches both, and the child writes its reports."""
    environment = {**os.environ, "LOCUST_SKIP_UPDATE_CHECK": "1"}
    command = [sys.executable, "-m", "locust", *arguments]
    with subprocess.Popen(command, env=environment) as process:  # noqa: S603 - our own interpreter
        try:
            return process.wait()
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            try:
                return process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                return process.wait()
