"""Turn the options of a load test into validated settings."""

from __future__ import annotations

import math
import os
import ssl
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlsplit

from loadtests.client.transport import Endpoint
from loadtests.errors import UsageError
from loadtests.measure.abort_limits import AbortLimits
from loadtests.measure.objectives import parse as parse_objective
from loadtests.report.extra_reports import parse_reports
from loadtests.report.measurement import LoadPlan
from loadtests.run.options import ABORT_AFTER
from loadtests.run.report_folder import prepare_folder
from loadtests.shape.arrivals import SHAPES, read_trace
from loadtests.shape.workload import WorkloadScenario, read_scenario
from openapi.address import AddressError
from openapi.address import parse as parse_address
from openapi.api_key import ApiKeyError, read_api_key
from openapi.contract.contract import ContractError, load
from openapi.extra_headers import ExtraHeader, HeaderError, parse_headers

if TYPE_CHECKING:
    from loadtests.measure.objectives import Objective
    from loadtests.shape.arrivals import Process, Profile, TracedRequest
    from openapi.contract.contract import Contract


OPTIONAL_NUMBERS: Final = ("rate", "give_up_share", "give_up_count")
"""Options that may be left without a value."""


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """The settings of a load test. `rate` or `trace` makes it an open loop; otherwise users wait for their answers.

    headers: the additional headers of every request, including that of the key. secrets: values that no report may
    show.
    """

    contract: Contract
    endpoint: Endpoint
    base: str
    model: str
    headers: tuple[ExtraHeader, ...]
    secrets: tuple[str, ...]
    scenario: WorkloadScenario
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
    trace: tuple[TracedRequest, ...]
    think_s: float
    deadline_s: float
    max_requests: int
    max_in_flight: int
    max_failures: float
    abort_limits: AbortLimits | None
    sample: int
    out: Path | None
    reports: tuple[tuple[str, str], ...] = ()

    @property
    def open_loop(self) -> bool:
        """Whether requests are sent by a plan, whatever has been answered."""
        return self.rate is not None or bool(self.trace)

    def describe(self) -> LoadPlan:
        """Return the plan that the results contain."""
        return LoadPlan(
            url=self.base,
            dialect=self.contract.name,
            model=self.model,
            open_loop=self.open_loop,
            users=self.users,
            rate_per_s=self.rate,
            process=self.process,
            shape=self.shape,
            seed=self.seed,
            warm_up_s=self.warm_up_s,
            seconds=self.seconds,
            max_failures=self.max_failures,
            objectives=self.objectives,
            trace_at_s=tuple(request.at_s for request in self.trace),
            secrets=self.secrets,
        )


def build_settings(options: Namespace) -> LoadSettings:
    """Build the settings from the options. Raise UsageError for the first invalid option."""
    options = Namespace(**vars(options) | {name: _parse_number(options, name) for name in OPTIONAL_NUMBERS})
    try:
        contract = load(options.dialect)
    except ContractError as error:
        raise UsageError(f"--dialect: {error}") from error
    if not options.host:
        raise UsageError("missing server: pass its URL, or --host with locust")
    try:
        target = parse_address(options.host, contract.path, contract.models_path)
    except AddressError as error:
        raise UsageError(str(error)) from error
    _check_ranges(options)
    _check_combinations(options)
    users = max(1, round(options.num_users or 1))
    key, headers = _read_key(options.api_key_env), _parse_headers(options)
    scenario = read_scenario(Path(options.scenario)) if options.scenario else WorkloadScenario()
    if scenario.prompts.prompts and options.trace:
        raise UsageError(
            "--trace and the prompts of a scenario are mutually exclusive: both decide the length of prompts"
        )
    trace = tuple(read_trace(Path(options.trace))) if options.trace else ()
    return LoadSettings(
        contract=contract,
        endpoint=_build_endpoint(target.chat_url, options),
        base=target.base,
        model=options.model or contract.default_model,
        headers=(*([ExtraHeader("Authorization", f"Bearer {key}", secret=True)] if key else []), *headers),
        secrets=(*([key] if key else []), *(header.value for header in headers if header.secret)),
        scenario=scenario,
        objectives=tuple(parse_objective(text.strip()) for text in options.objective if text.strip()),
        seed=options.seed,
        seconds=options.seconds,
        warm_up_s=options.warm_up,
        users=users,
        rate=options.rate,
        process=cast("Process", options.arrivals),
        burstiness=options.burstiness,
        profile=SHAPES[options.shape](options.rate or float(users), options.seconds + options.warm_up),
        shape=options.shape,
        trace=trace,
        think_s=options.think,
        deadline_s=options.deadline,
        max_requests=options.max_requests,
        max_in_flight=options.max_in_flight,
        max_failures=options.max_failures,
        abort_limits=_build_abort_limits(options),
        sample=options.sample,
        out=prepare_folder(options.out) if options.out else None,
        reports=parse_reports(options.report),
    )


def _check_ranges(options: Namespace) -> None:
    """Raise UsageError for the first number that is out of range."""
    for name in ("seconds", "deadline", "burstiness", *(("rate",) if options.rate is not None else ())):
        if not 0 < getattr(options, name) < math.inf:
            raise UsageError(f"--{name} {getattr(options, name):g}: expected a number above 0")
    for name in ("warm_up", "think", "sample"):
        if not 0 <= getattr(options, name) < math.inf:
            raise UsageError(f"{_flag(name)} {getattr(options, name):g}: expected 0 or more")
    for name in ("max_requests", "max_in_flight", "give_up_after"):
        if getattr(options, name) < 1:
            raise UsageError(f"{_flag(name)} {getattr(options, name)}: expected a whole number from 1")
    if not 0 <= options.max_failures <= 1:
        raise UsageError(f"--max-failures {options.max_failures:g}: expected a share from 0 to 1")
    if options.give_up_share is not None and not 0 <= options.give_up_share < 1:
        raise UsageError(f"--give-up-share {options.give_up_share:g}: expected a share of at least 0 and below 1")
    if options.give_up_count is not None and not (options.give_up_count >= 0 and options.give_up_count % 1 == 0):
        raise UsageError(f"--give-up-count {options.give_up_count:g}: expected a whole number from 0")


def _check_combinations(options: Namespace) -> None:
    """Raise UsageError for the first option that another one makes ineffective; no option is ignored silently."""
    if options.rate is not None and options.trace:
        raise UsageError("--rate and --trace are mutually exclusive: both decide when requests are sent")
    if options.insecure and options.ca_file:
        raise UsageError("--ca-file and --insecure are mutually exclusive")
    planned = options.rate is not None or options.trace
    if planned and options.think:
        raise UsageError(f"--think {options.think:g}: has no effect with --rate or --trace, which have no users")
    if options.trace and options.shape != "steady":
        raise UsageError(f"--shape {options.shape}: has no effect with --trace, which defines the load over time")
    if options.rate is None and options.arrivals != "poisson":
        raise UsageError(f"--arrivals {options.arrivals}: has no effect without --rate")
    if options.burstiness != 1 and options.arrivals != "gamma":
        raise UsageError(f"--burstiness {options.burstiness:g}: has no effect without --arrivals gamma")
    if options.give_up_share is None and options.give_up_after != ABORT_AFTER:
        raise UsageError(f"--give-up-after {options.give_up_after}: has no effect without --give-up-share")
    if options.give_up_share is not None and options.give_up_share < options.max_failures:
        raise UsageError(
            f"--give-up-share {options.give_up_share:g}: would abort tests that --max-failures "
            f"{options.max_failures:g} allows: expected at least that share"
        )


def _build_abort_limits(options: Namespace) -> AbortLimits | None:
    share, count = options.give_up_share, options.give_up_count
    if share is None and count is None:
        return None
    return AbortLimits(share, None if count is None else int(count), options.give_up_after)


def _parse_number(options: Namespace, name: str) -> float | None:
    """Return an optional number; the web page gives it as a string."""
    value = getattr(options, name)
    try:
        return None if value in (None, "") else float(value)
    except ValueError:
        raise UsageError(f"{_flag(name)} {value}: expected a number") from None


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _parse_headers(options: Namespace) -> tuple[ExtraHeader, ...]:
    plain, secret = ([text for text in texts if text] for texts in (options.header, options.header_env))
    try:
        return parse_headers(plain, secret, os.environ)
    except HeaderError as error:
        raise UsageError(str(error)) from error


def _read_key(variable: str) -> str:
    try:
        return read_api_key(variable, os.environ) or ""
    except ApiKeyError as error:
        raise UsageError(str(error)) from error


def _build_endpoint(url: str, options: Namespace) -> Endpoint:
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
    return Endpoint(parts.hostname or "", parts.port or (443 if tls else 80), parts.path, tls)
