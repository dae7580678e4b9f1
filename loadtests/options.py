"""The options of a load test, for `locust -f` and `chatproof load` alike, and what they mean together."""

from __future__ import annotations

import os
import ssl
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from loadtests import arrivals, objectives, workload
from loadtests.errors import UsageError
from loadtests.transport import Origin
from openapi.address import AddressError, parse
from openapi.contract import ContractError, load

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from loadtests.arrivals import Process, Profile, Traced
    from loadtests.objectives import Objective
    from openapi.contract import Contract

DIALECT: Final = "mindie"
SECONDS: Final = 60.0
MOST_REQUESTS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Settings:
    """A load test as it was asked for. `rate` makes it an open loop; without, `users` come back when answered."""

    contract: Contract
    origin: Origin
    base: str
    model: str
    key: str
    scenario: workload.Scenario
    objectives: tuple[Objective, ...]
    seed: int
    seconds: float
    warm_up_s: float
    users: int
    rate: float | None
    process: Process
    burstiness: float
    profile: Profile
    shape: str
    trace: tuple[Traced, ...]
    think_s: float
    deadline_s: float
    max_requests: int
    max_in_flight: int
    max_failures: float
    sample: int
    out: Path | None

    @property
    def open(self) -> bool:
        """Whether requests leave by a plan, whatever has been answered."""
        return self.rate is not None or bool(self.trace)


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


def settings(options: Namespace) -> Settings:
    """What the options mean. Raises UsageError with the first that cannot work."""
    options = Namespace(**vars(options) | {"rate": _number(options, "rate")})
    try:
        contract = load(options.dialect)
    except ContractError as error:
        raise UsageError(f"--dialect: {error}") from error
    if not options.host:
        raise UsageError("name the server to load: its URL, or --host with locust")
    try:
        target = parse(options.host, contract.path, contract.models_path)
    except AddressError as error:
        raise UsageError(str(error)) from error
    for name in ("seconds", "deadline", "burstiness"):
        _positive(options, name)
    for name in ("warm_up", "think", "sample"):
        if getattr(options, name) < 0:
            raise UsageError(f"--{name.replace('_', '-')} {getattr(options, name)}: write 0 or more")
    if not 0 <= options.max_failures <= 1:
        raise UsageError(f"--max-failures {options.max_failures}: write a share from 0 to 1")
    if options.rate is not None:
        _positive(options, "rate")
        if options.trace:
            raise UsageError("--rate and --trace both say when requests leave: give one")
    if options.out:
        try:
            Path(options.out).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--out {options.out}: no folder can be made there: {error.strerror}") from error
    users = max(1, round(options.num_users or 1))
    recorded = tuple(arrivals.trace(Path(options.trace))) if options.trace else ()
    return Settings(
        contract=contract,
        origin=_origin(target.chat_url, options),
        base=target.base,
        model=options.model or contract.default_model,
        key=_key(options.api_key_env),
        scenario=workload.read(Path(options.scenario)) if options.scenario else workload.Scenario(),
        objectives=tuple(objectives.parse(text.strip()) for text in options.objective if text.strip()),
        seed=options.seed,
        seconds=options.seconds,
        warm_up_s=options.warm_up,
        users=users,
        rate=options.rate,
        process=cast("Process", options.arrivals),
        burstiness=options.burstiness,
        profile=arrivals.SHAPES[options.shape](options.rate or float(users), options.seconds + options.warm_up),
        shape=options.shape,
        trace=recorded,
        think_s=options.think,
        deadline_s=options.deadline,
        max_requests=options.max_requests,
        max_in_flight=options.max_in_flight,
        max_failures=options.max_failures,
        sample=options.sample,
        out=Path(options.out) if options.out else None,
    )


def _positive(options: Namespace, name: str) -> None:
    if not getattr(options, name) > 0:
        raise UsageError(f"--{name} {getattr(options, name)}: write a number above 0")


def _number(options: Namespace, name: str) -> float | None:
    """A number that need not be there; the web page gives it as text."""
    value = getattr(options, name)
    try:
        return None if value in (None, "") else float(value)
    except ValueError:
        raise UsageError(f"--{name} {value}: write a number above 0") from None


def _key(variable: str) -> str:
    if not variable:
        return ""
    value = os.environ.get(variable, "")
    if not value:
        raise UsageError(f"--api-key-env {variable}: that variable is not set")
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise UsageError(f"--api-key-env {variable}: its value has characters that no header can carry")
    return value


def _origin(url: str, options: Namespace) -> Origin:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    tls = None
    if parts.scheme == "https":
        try:
            tls = ssl.create_default_context(cafile=options.ca_file or None)
        except OSError as error:
            raise UsageError(f"--ca-file {options.ca_file}: {error.strerror or error}") from error
        if options.insecure:
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
    return Origin(parts.hostname or "", parts.port or (443 if tls else 80), parts.path, tls)
