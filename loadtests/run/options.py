"""Declare the options of a load test, for `locust -f` and `chatproof load` alike.

Their meaning is in `settings`, which takes longer to import than a command may take before it starts Locust.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from loadtests.measure import objectives
from loadtests.shape import arrivals

if TYPE_CHECKING:
    from argparse import ArgumentParser

DIALECT: Final = "mindie"
SECONDS: Final = 60.0
MAX_REQUESTS: Final = 100_000
ABORT_AFTER: Final = 100


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the load tests.

    name: without dashes. default: its type is the type of the option; () for an option that may be repeated, False
    for a flag, None for an optional number. web: whether Locust's web page may change it between tests; options that
    name files of the machine may not be changed there. shared: the name of the same option in other commands, which
    `chatproof load` has, too. is_duration: whether `chatproof load` accepts `5m`; Locust takes seconds.
    """

    name: str
    metavar: str
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    web: bool = True
    shared: str = ""
    is_duration: bool = False


OPTIONS: Final = (
    Option("dialect", "NAME", DIALECT, "API dialect of the requests; required for a URL."),
    Option("model", "NAME", "", "Model to request; default: the dialect's."),
    Option("api-key-env", "VAR", "", "Environment variable that contains the API key.", web=False),
    Option("header", "NAME: VALUE", (), "Additional header for every request, repeatable.", web=False),
    Option("header-env", "NAME=VAR", (), "Secret header with the value of an environment variable.", web=False),
    Option("ca-file", "FILE", "", "Certificate authorities to trust, PEM.", web=False),
    Option("insecure", "", False, "Do not verify the server's certificate.", web=False),
    Option("scenario", "FILE", "", "Properties of the requests, YAML.", web=False),
    Option("objective", "BOUND", (), f"Objective to meet, repeatable: {objectives.EXAMPLE}"),
    Option("rate", "PER_S", None, "Requests per second; makes the loop open."),
    Option("arrivals", "NAME", "poisson", "Arrival process of an open loop.", ("constant", "poisson", "gamma")),
    Option("burstiness", "K", 1.0, "Shape of gamma arrivals; below 1 is burstier than poisson."),
    Option("trace", "FILE", "", "Recorded arrivals, JSON lines in the format of Mooncake or BurstGPT.", web=False),
    Option("shape", "NAME", "steady", "Load over time.", tuple(arrivals.SHAPES), web=False),
    Option("think", "S", 0.0, "Pause of a user between two requests, seconds.", is_duration=True),
    Option("seed", "N", 1, "Random seed."),
    Option("deadline", "S", 120.0, "Time limit for one answer, seconds.", shared="timeout", is_duration=True),
    Option("max-requests", "N", MAX_REQUESTS, "End the test after this many requests."),
    Option("max-in-flight", "N", 2000, "Maximum requests in flight in an open loop; more are dropped and counted."),
    Option("max-failures", "SHARE", 0.0, "Share of failed requests that is allowed, 0 to 1."),
    Option("give-up-share", "SHARE", None, "Abort the test when a larger share of its requests has failed, 0 to 1."),
    Option("give-up-after", "N", ABORT_AFTER, "Number of requests before --give-up-share applies."),
    Option("give-up-count", "N", None, "Abort the test when more requests than this have failed."),
    Option("sample", "N", 20, "Check one stream in N against the contract's rules; 0: none."),
    Option(
        "report",
        "KIND=PATH",
        (),
        "Further report, repeatable: openmetrics=FILE, or otlp=FILE or otlp=URL for OpenTelemetry.",
        web=False,
    ),
    Option("out", "FOLDER", "", "Folder for results.json, report.html and requests.csv.", web=False),
)
TIMES: Final = (
    Option("seconds", "S", SECONDS, "Measured time after the warm-up, seconds."),
    Option("warm-up", "S", 0.0, "Time before the measurement, seconds."),
)


def add_options(parser: ArgumentParser) -> None:
    """Add the options to Locust's parser."""
    group: Any = parser.add_argument_group("chatproof", "Options of chatproof's load tests")
    for option in (*OPTIONS, *TIMES):
        arguments: dict[str, Any] = {"help": option.help}
        if option.default is False:
            arguments["action"] = "store_true"
        elif option.default == ():
            # Locust's page takes an empty list for a list of numbers
            arguments |= {"action": "append", "default": [""], "metavar": option.metavar}
        else:
            arguments |= {"default": option.default, "type": value_type(option)}
            arguments |= {"choices": option.choices} if option.choices else {"metavar": option.metavar}
        group.add_argument(f"--{option.name}", **arguments).include_in_web_ui = option.web


def value_type(option: Option) -> type:
    """Return the type of an option's value."""
    return float if option.default is None else type(option.default)
