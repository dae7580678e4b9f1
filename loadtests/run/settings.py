"""Settings: what the options of a load test mean together."""

from __future__ import annotations

import math
import os
import ssl
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlsplit

from loadtests.client.transport import Origin
from loadtests.errors import UsageError
from loadtests.measure import objectives
from loadtests.measure.abort_limits import Limits
from loadtests.run import report_folder as folder
from loadtests.run.options import GIVE_UP_AFTER
from loadtests.shape import arrivals, workload
from openapi.address import AddressError, parse
from openapi.contract.contract import ContractError, load
from openapi.extra_headers import Header, HeaderError, extra

if TYPE_CHECKING:
    from loadtests.measure.objectives import Objective
    from loadtests.shape.arrivals import Process, Profile, Traced
    from openapi.contract.contract import Contract


NUMBERS: Final = ("rate", "give_up_share", "give_up_count")
"""Options that need not have a value."""


@dataclass(frozen=True, slots=True)
class Settings:
    """A load test as it was asked for. `rate` makes it an open loop; without, `users` come back when answered.

    `headers` are those of every request beside its own, the key's among them; `secrets` are values no report may show.
    """

    contract: Contract
    origin: Origin
    base: str
    model: str
    headers: tuple[Header, ...]
    secrets: tuple[str, ...]
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
    give_up: Limits | None
    sample: int
    out: Path | None

    @property
    def open(self) -> bool:
        """Whether requests leave by a plan, whatever has been answered."""
        return self.rate is not None or bool(self.trace)


def settings(options: Namespace) -> Settings:
    """What the options mean. Raises UsageError with the first that cannot work."""
    options = Namespace(**vars(options) | {name: _number(options, name) for name in NUMBERS})
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
    _in_range(options)
    _agree(options)
    users = max(1, round(options.num_users or 1))
    key, headers = _key(options.api_key_env), _headers(options)
    scenario = workload.read(Path(options.scenario)) if options.scenario else workload.Scenario()
    if scenario.prompts.each and options.trace:
        raise UsageError(
            "--trace states how long prompts are, and those of the scenario's file are as they stand: give one"
        )
    recorded = tuple(arrivals.trace(Path(options.trace))) if options.trace else ()
    return Settings(
        contract=contract,
        origin=_origin(target.chat_url, options),
        base=target.base,
        model=options.model or contract.default_model,
        headers=(*([Header("Authorization", f"Bearer {key}", secret=True)] if key else []), *headers),
        secrets=(*([key] if key else []), *(header.value for header in headers if header.secret)),
        scenario=scenario,
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
        give_up=_limits(options),
        sample=options.sample,
        out=folder.prepared(options.out) if options.out else None,
    )


def _in_range(options: Namespace) -> None:
    """Raises UsageError for the first number that is none to work with."""
    for name in ("seconds", "deadline", "burstiness", *(("rate",) if options.rate is not None else ())):
        if not 0 < getattr(options, name) < math.inf:
            raise UsageError(f"--{name} {getattr(options, name):g}: write a number above 0")
    for name in ("warm_up", "think", "sample"):
        if not 0 <= getattr(options, name) < math.inf:
            raise UsageError(f"--{name.replace('_', '-')} {getattr(options, name):g}: write 0 or more")
    for name in ("max_requests", "max_in_flight", "give_up_after"):
        if getattr(options, name) < 1:
            raise UsageError(f"--{name.replace('_', '-')} {getattr(options, name)}: write a number from 1 on")
    if not 0 <= options.max_failures <= 1:
        raise UsageError(f"--max-failures {options.max_failures:g}: write a share from 0 to 1")
    if options.give_up_share is not None and not 0 <= options.give_up_share < 1:
        raise UsageError(f"--give-up-share {options.give_up_share:g}: write a share from 0 on and below 1")
    if options.give_up_count is not None and not (options.give_up_count >= 0 and options.give_up_count % 1 == 0):
        raise UsageError(f"--give-up-count {options.give_up_count:g}: write a whole number from 0 on")


def _agree(options: Namespace) -> None:
    """Raises UsageError for the first option that another one makes void; none is ignored in silence."""
    if options.rate is not None and options.trace:
        raise UsageError("--rate and --trace both say when requests leave: give one")
    if options.insecure and options.ca_file:
        raise UsageError("--ca-file says whom to trust and --insecure to trust anybody: give one")
    planned = options.rate is not None or options.trace
    if planned and options.think:
        raise UsageError(f"--think {options.think:g}: users pause, and with --rate or --trace there are none")
    if options.trace and options.shape != "steady":
        raise UsageError(f"--shape {options.shape}: a trace has its own load over time")
    if options.rate is None and options.arrivals != "poisson":
        raise UsageError(f"--arrivals {options.arrivals}: spaces the requests of --rate, which is not given")
    if options.burstiness != 1 and options.arrivals != "gamma":
        raise UsageError(f"--burstiness {options.burstiness:g}: only --arrivals gamma has one")
    if options.give_up_share is None and options.give_up_after != GIVE_UP_AFTER:
        raise UsageError(f"--give-up-after {options.give_up_after}: goes with --give-up-share, which is not given")
    if options.give_up_share is not None and options.give_up_share < options.max_failures:
        words = f"--give-up-share {options.give_up_share:g}: would end tests that --max-failures"
        raise UsageError(f"{words} {options.max_failures:g} allows to pass")


def _limits(options: Namespace) -> Limits | None:
    share, count = options.give_up_share, options.give_up_count
    if share is None and count is None:
        return None
    return Limits(share, None if count is None else int(count), options.give_up_after)


def _number(options: Namespace, name: str) -> float | None:
    """A number that need not be there; the web page gives it as text."""
    value = getattr(options, name)
    try:
        return None if value in (None, "") else float(value)
    except ValueError:
        raise UsageError(f"--{name.replace('_', '-')} {value}: is no number") from None


def _headers(options: Namespace) -> tuple[Header, ...]:
    given, kept = ([text for text in texts if text] for texts in (options.header, options.header_env))
    try:
        return extra(given, kept, os.environ)
    except HeaderError as error:
        raise UsageError(str(error)) from error


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
