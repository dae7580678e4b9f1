"""The options of a load test, for `locust -f` and `chatproof load` alike. What they mean together is in `settings`,
which takes longer to import than a command has before it starts Locust."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from loadtests.measure import objectives
from loadtests.shape import arrivals

if TYPE_CHECKING:
    from argparse import ArgumentParser

DIALECT: Final = "mindie"
SECONDS: Final = 60.0
MOST_REQUESTS: Final = 100_000
GIVE_UP_AFTER: Final = 100


@dataclass(frozen=True, slots=True)
class Option:
    """One option of ours: its name without dashes, its default, which tells its type, and its line of help.

    A default of () may be given several times, False is a flag, None a number that need not be there. `web`: whether
    Locust's web page may change it from test to test; nothing there names files of the machine that it runs on.
    """

    name: str
    metavar: str
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    web: bool = True


OPTIONS: Final = (
    Option("dialect", "NAME", DIALECT, "the API that requests are valid for"),
    Option("model", "NAME", "", "model to ask for; default: the dialect's"),
    Option("api-key-env", "VAR", "", "environment variable with the API key", web=False),
    Option("header", "NAME: VALUE", (), "a further header of every request, repeatable", web=False),
    Option("header-env", "NAME=VAR", (), "one with a secret value, that of an environment variable", web=False),
    Option("ca-file", "FILE", "", "authorities to trust, PEM", web=False),
    Option("insecure", "", False, "do not verify the server's certificate", web=False),
    Option("scenario", "FILE", "", "what requests are like, YAML", web=False),
    Option("objective", "BOUND", (), f"a bound to keep, repeatable: {objectives.EXAMPLE}"),
    Option("rate", "PER_S", None, "an open loop of so many requests a second"),
    Option("arrivals", "NAME", "poisson", "how an open loop's requests are spaced", ("constant", "poisson", "gamma")),
    Option("burstiness", "K", 1.0, "shape of gamma; below 1 comes in bursts"),
    Option("trace", "FILE", "", "recorded arrivals, JSONL of Mooncake or BurstGPT", web=False),
    Option("shape", "NAME", "steady", "the load over time", tuple(arrivals.SHAPES), web=False),
    Option("think", "S", 0.0, "pause of a user between requests"),
    Option("seed", "N", 1, "of all that is drawn"),
    Option("deadline", "S", 120.0, "most seconds that one answer may take"),
    Option("max-requests", "N", MOST_REQUESTS, "end after so many"),
    Option("max-in-flight", "N", 2000, "requests of an open loop; more are dropped and counted"),
    Option("max-failures", "SHARE", 0.0, "failed requests allowed, 0 to 1"),
    Option("give-up-share", "SHARE", None, "end the test as soon as more of its requests have failed, 0 to 1"),
    Option("give-up-after", "N", GIVE_UP_AFTER, "requests before a share of them can end it"),
    Option("give-up-count", "N", None, "end the test as soon as more requests have failed"),
    Option("sample", "N", 20, "judge one stream in N by the contract's rules; 0: none"),
    Option("out", "FOLDER", "", "where results.json and report.html go", web=False),
)
TIMES: Final = (
    Option("seconds", "S", SECONDS, "measured time, after the warm-up"),
    Option("warm-up", "S", 0.0, "time before that, not measured"),
)


def add(parser: ArgumentParser) -> None:
    """Adds our options to Locust's."""
    group: Any = parser.add_argument_group("chatproof", "What is sent, and what must be reached")
    for option in (*OPTIONS, *TIMES):
        given: dict[str, Any] = {"help": option.help}
        if option.default is False:
            given["action"] = "store_true"
        elif option.default == ():
            # Locust's page takes an empty list for one of numbers
            given |= {"action": "append", "default": [""], "metavar": option.metavar}
        else:
            given |= {"default": option.default, "type": kind(option)}
            given |= {"choices": option.choices} if option.choices else {"metavar": option.metavar}
        group.add_argument(f"--{option.name}", **given).include_in_web_ui = option.web


def kind(option: Option) -> type:
    """The type of an option's value."""
    return float if option.default is None else type(option.default)
