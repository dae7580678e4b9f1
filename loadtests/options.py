"""The options of a load test, for `locust -f` and `chatproof load` alike, and what they mean together."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from loadtests import arrivals, objectives, workload
from loadtests.errors import UsageError
from loadtests.transport import Origin
from openapi.address import AddressError, parse
from openapi.contract import ContractError, load

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

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
    report: Path | None

    @property
    def open(self) -> bool:
        """Whether requests leave by a plan, whatever has been answered."""
        return self.rate is not None or bool(self.trace)


def add(parser: ArgumentParser) -> None:
    """Adds our options to Locust's."""
    group: Any = parser.add_argument_group("chatproof", "What is sent, and what must be reached")
    group.add_argument("--dialect", default=DIALECT, metavar="NAME", help="the API that requests are valid for")
    group.add_argument("--model", default="", metavar="NAME", help="model to ask for; default: the dialect's")
    group.add_argument("--api-key-env", default="", metavar="VAR", help="environment variable with the API key")
    group.add_argument("--ca-file", default="", metavar="FILE", help="authorities to trust, PEM")
    group.add_argument("--insecure", action="store_true", help="do not verify the server's certificate")
    group.add_argument("--scenario", default="", metavar="FILE", help="what requests are like, YAML")
    group.add_argument(
        "--objective", action="append", default=[], metavar="BOUND", help=f"a bound to keep: {objectives.EXAMPLE}"
    )
    group.add_argument("--rate", type=float, default=None, metavar="PER_S", help="an open loop of so many a second")
    group.add_argument("--arrivals", default="poisson", choices=("constant", "poisson", "gamma"), help="of --rate")
    group.add_argument("--burstiness", type=float, default=1.0, metavar="K", help="of gamma; below 1 comes in bursts")
    group.add_argument("--trace", default="", metavar="FILE", help="recorded arrivals, Mooncake or BurstGPT JSONL")
    group.add_argument("--shape", default="steady", choices=tuple(arrivals.SHAPES), help="of the load over time")
    group.add_argument("--seconds", type=float, default=SECONDS, metavar="S", help="measured time, after the warm-up")
    group.add_argument("--warm-up", type=float, default=0.0, metavar="S", help="time before that, not measured")
    group.add_argument("--think", type=float, default=0.0, metavar="S", help="pause of a user between requests")
    group.add_argument("--seed", type=int, default=1, metavar="N", help="of all that is drawn")
    group.add_argument("--deadline", type=float, default=120.0, metavar="S", help="most that one answer may take")
    group.add_argument("--max-requests", type=int, default=MOST_REQUESTS, metavar="N", help="end after so many")
    group.add_argument("--max-in-flight", type=int, default=2000, metavar="N", help="of an open loop; more is dropped")
    group.add_argument("--max-failures", type=float, default=0.0, metavar="SHARE", help="failed requests allowed, 0..1")
    group.add_argument("--sample", type=int, default=20, metavar="N", help="judge one stream in N; 0: none")
    group.add_argument("--report", default="", metavar="FILE", help="results as JSON")


def settings(options: Namespace) -> Settings:
    """What the options mean. Raises UsageError with the first that cannot work."""
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
    users = max(1, round(options.num_users or 1))
    recorded = tuple(arrivals.trace(Path(options.trace))) if options.trace else ()
    return Settings(
        contract=contract,
        origin=_origin(target.chat_url, options),
        base=target.base,
        model=options.model or contract.default_model,
        key=_key(options.api_key_env),
        scenario=workload.read(Path(options.scenario)) if options.scenario else workload.Scenario(),
        objectives=tuple(objectives.parse(text) for text in options.objective),
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
        report=Path(options.report) if options.report else None,
    )


def _positive(options: Namespace, name: str) -> None:
    if not getattr(options, name) > 0:
        raise UsageError(f"--{name} {getattr(options, name)}: write a number above 0")


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
            raise UsageError(f"--ca-file {options.ca_file}: {error}") from error
        if options.insecure:
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
    return Origin(parts.hostname or "", parts.port or (443 if tls else 80), parts.path, tls)
