"""Judge one server, from its address to the report; used by the command line and by the pytest plugin."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from conformance.check import NotObserved
from conformance.client.client import Client
from conformance.client.untimed_client import UntimedClient
from conformance.errors import UsageError
from conformance.judge.acceptance import is_completion
from conformance.judge.causes import Causes, attribute_lost, find_causes
from conformance.judge.check_registry import gather_checks
from conformance.judge.evidence.liveness import list_canary_assertions
from conformance.judge.evidence.load_failures import list_load_assertions
from conformance.judge.judgement import Judgement, judge
from conformance.judging_limit import INTERRUPTED, JudgingLimit
from conformance.plan.capabilities import (
    DeclaredCapabilities,
    capabilities_from_description,
    default_capabilities,
    narrow_contract,
)
from conformance.plan.own_dialect import check_own_dialect
from conformance.plan.plan import Plan
from conformance.plan.scenarios.schemathesis_cases import NOTHING, Draw
from conformance.record import BudgetLimits, Record, Spent
from conformance.report import verdict
from conformance.report.document_coverage import count_sentences
from conformance.report.results import RunFacts, add_dialects, build_results
from conformance.run.calls import ServerUnderTest
from conformance.run.drafting import draft
from conformance.run.failures.canary import DIED, Canary
from conformance.run.media.media_host import serve_media
from conformance.run.media.media_places import MediaPlaces
from conformance.run.preflight import Preflight
from conformance.run.run import Run
from conformance.run.saved_requests import index_exchanges
from openapi.address import AddressError, parse
from openapi.contract.contract import ContractError, load
from openapi.description.validation import Validator

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from typing import Any

    from conformance.client.headers import GatewayHeader
    from conformance.client.secret import Secret
    from conformance.exchange import Exchange
    from conformance.plan.depth import Depth
    from conformance.plan.expected_time import AnswerPace
    from conformance.report.verdict import Report
    from conformance.report.waivers import Waiver
    from openapi.address import Target
    from openapi.contract.contract import Contract


LONGEST_REASON: Final = 500
NOTHING_SPENT: Final = Spent()
NO_COMPLETION: Final = "no request was answered with a chat completion, so the server cannot be judged"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the user asked for.

    depth: how much of the plan to send.
    draw: how many generated requests to send in addition.
    capabilities: (name, has it) pairs that override what the server declares.
    also: further dialects to judge the same server by.
    wait_s: how long to wait for a server that is still starting.
    headers: sent with every request, for a gateway in front of the server.
    media_host: address of this machine at which the server can fetch media files from the suite; None: it cannot.
    media_path: folder on the server with the media files of the suite; None: it has none.
    started_s: when the command began, on the monotonic clock; its time limit counts from then.
    key_variable: the environment variable with the API key, for the commands that reports show.
    annotate: the file at which code-scanning pages show the findings.
    """

    url: str
    dialect: str
    model: str | None = None
    only: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    depth: Depth = "standard"
    draw: Draw = NOTHING
    capabilities: tuple[tuple[str, bool], ...] = ()
    strict: bool = False
    budget: BudgetLimits = field(default_factory=BudgetLimits)
    verify: bool | ssl.SSLContext = True
    also: tuple[str, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    wait_s: float = 0.0
    headers: tuple[GatewayHeader, ...] = ()
    media_host: str | None = None
    media_path: str | None = None
    started_s: float = field(default_factory=time.monotonic)
    key_variable: str | None = None
    annotate: str | None = None


@dataclass(frozen=True, slots=True, repr=False)  # asyncio.run writes the repr of a task's result: 228 MB
class PreparedRun:
    """Everything that is known before the plan is sent.

    also: the same for each further dialect.
    answered: whether the chat request of the preflight was answered with a completion.
    failed: whether it was answered with a status of 5xx.
    spent: what the chat requests of the preflight have cost.
    pace: how fast the server answered them.
    """

    options: RunOptions
    contract: Contract
    target: Target
    model: str
    declaration: DeclaredCapabilities
    plan: Plan
    also: tuple[PreparedRun, ...] = ()
    answered: bool = True
    failed: bool = False
    spent: Spent = NOTHING_SPENT
    pace: AnswerPace | None = None

    @property
    def requests(self) -> int:
        """The maximum number of requests of all plans; a request that two plans share is sent once."""
        shared = {scenario.request_key(self.model) for scenario in self.plan.scenarios}
        return self.plan.requests + sum(
            len(scenario.steps)
            for other in self.also
            for scenario in other.plan.scenarios
            if scenario.request_key(self.model) not in shared
        )


@dataclass(frozen=True, slots=True, repr=False)  # as above
class RunOutcome:
    """Everything that is known after a run. `also`: the same for each further dialect."""

    prepared: PreparedRun
    record: Record
    judgements: tuple[Judgement, ...]
    report: Report
    results: dict[str, Any]
    also: tuple[RunOutcome, ...] = ()


def load_contract(dialect: str, option: str = "--dialect") -> Contract:
    """Load the contract of a dialect. Raises UsageError, which names the option, as `load` does."""
    try:
        contract = load(dialect)
    except ContractError as error:
        raise UsageError(f"{option}: {error}") from error
    if contract.files:
        check_own_dialect(contract, gather_checks(contract))
    return contract


def parse_target(url: str, contract: Contract) -> Target:
    """Return the endpoints of the server at a URL. Raises UsageError for an invalid URL."""
    try:
        return parse(url, contract.path, contract.models_path)
    except AddressError as error:
        raise UsageError(str(error)) from error


async def prepare_server(options: RunOptions, secret: Secret | None, *, timed: bool = False) -> PreparedRun:
    """Connect to the server, ask for its models and capabilities, and draft the plan.

    timed: whether to measure the time of a token, too, for an estimate of the duration.
    Raises Unreachable if the server does not answer or refuses the API key, UsageError for an invalid setting.
    """
    contract = load_contract(options.dialect)
    target = parse_target(options.url, contract)
    if options.model and not options.model.isprintable():
        raise UsageError(f"invalid --model {options.model!a}: expected printable characters only")
    client = UntimedClient(target.base, secret, headers=options.headers, verify=options.verify)
    limits = options.budget
    until_s = math.inf if limits.sending_s is None else options.started_s + limits.sending_s
    preflight = Preflight(client, target, contract, timeout_s=limits.deadline_s, until_s=until_s, limits=limits)
    if options.wait_s:
        await preflight.wait(options.wait_s)
    model = options.model or await preflight.find_model()
    description = await preflight.fetch_description()
    capabilities = _read_capabilities(contract, description, options, options.capabilities, key=client.has_key)
    answered = await preflight.check_chat(model, named=bool(options.model))
    if timed and answered:
        await preflight.measure_pace(model)
    capabilities = await preflight.probe(model, capabilities)

    def prepare_dialect(dialect: Contract, capabilities: DeclaredCapabilities) -> PreparedRun:
        plan = draft(dialect, capabilities, options.only, options.topics, options.draw, options.depth)
        plan = replace(plan, denials={} if options.only or options.topics else capabilities.denials)
        return PreparedRun(
            options,
            dialect,
            target,
            model,
            capabilities,
            plan,
            answered=answered,
            failed=preflight.failed,
            pace=preflight.pace,
        )

    others = []
    for other in map(load_contract, dict.fromkeys(options.also)):
        if other is not contract:
            # An override is a capability of the first dialect, and perhaps not of this one.
            overrides = tuple(pair for pair in options.capabilities if pair[0] in other.capabilities)
            declared = _read_capabilities(other, description, options, overrides, key=client.has_key)
            refused = set(capabilities.denied) & set(declared.list_conditional(other))
            others.append(prepare_dialect(other, declared.with_refusals(other, refused)))
    return replace(prepare_dialect(contract, capabilities), also=tuple(others), spent=preflight.spent)


def _read_capabilities(
    contract: Contract,
    description: object,
    options: RunOptions,
    overrides: tuple[tuple[str, bool], ...],
    *,
    key: bool,
) -> DeclaredCapabilities:
    """Return the capabilities by dialect or description, overrides, API key and places of media, in this order."""
    capabilities = capabilities_from_description(contract, description) or default_capabilities(contract)
    known = capabilities.with_overrides(contract, overrides).with_key(contract, key=key)
    given = {"media_urls": options.media_host is not None, "media_paths": options.media_path is not None}
    return known.with_media_places(contract, given)


def describe_unreachable(options: RunOptions, reason: str) -> dict[str, Any]:
    """Return the results of a run that could not begin, so that the reports that were requested say so."""
    contract = load_contract(options.dialect)
    capabilities = default_capabilities(contract)
    plan = Plan(narrow_contract(contract, capabilities), (), (), (), partial=True)
    target, model = parse_target(options.url, contract), options.model or contract.default_model
    prepared = PreparedRun(options, contract, target, model, capabilities, plan, answered=False)
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    record = Record(exhausted=f"the server cannot be judged: {' '.join(reason.split())[:LONGEST_REASON]}")
    return conclude(prepared, record, started_at, time.monotonic() - options.started_s).results


async def send(
    prepared: PreparedRun, secret: Secret | None, on_progress: Callable[[Record], None] = lambda _: None
) -> RunOutcome:
    """Send the plan, judge the answers and build the report. If cancelled, judge what has been recorded.

    An interrupt while the answers are judged ends that too.
    """
    with serve_media(prepared.options.media_host) as host:
        media = MediaPlaces(host, (prepared.options.media_path or "").rstrip("/"))
        return await _send(prepared, secret, on_progress, media)


async def _send(
    prepared: PreparedRun, secret: Secret | None, on_progress: Callable[[Record], None], media: MediaPlaces
) -> RunOutcome:
    """Send the plan while the server finds the media files at these places."""
    started_at, started_s = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    records: list[Record] = []
    async with _open_client(prepared.options, secret) as client:
        for current in (prepared, *prepared.also):
            run = Run(
                current.plan,
                ServerUnderTest(client, current.target, current.model, media),
                _with_spent(prepared.options, records),
                on_progress=on_progress,
                reusable=index_exchanges(prepared.plan, records[0], prepared.model) if records else None,
                id_prefix=f"{current.contract.name}:" if records else "",
                canary=_make_canary(current.plan.contract, prepared),
            )
            if not records:
                run.record.requests, run.record.tokens = prepared.spent.requests, prepared.spent.tokens
            try:
                records.append(await run.execute())
            except asyncio.CancelledError:
                run.record.exhausted = INTERRUPTED
                records.append(run.record)
                break
    duration_s = time.monotonic() - started_s
    with limit_judging(prepared.options) as limit:
        first = conclude(prepared, records[0], started_at, duration_s, limit)
        others = tuple(
            conclude(other, record, started_at, duration_s, limit)
            for other, record in zip(prepared.also, records[1:], strict=False)
        )
    return replace(first, also=others, results=add_dialects(first.results, [other.results for other in others]))


def _make_canary(contract: Contract, prepared: PreparedRun) -> Canary | None:
    """Return the canary; None if the server refused the good request of the preflight, which the canary resembles."""
    return Canary(contract, is_due_first=prepared.failed) if prepared.answered or prepared.failed else None


def limit_judging(options: RunOptions) -> JudgingLimit:
    """Return the limit of judging: the time limit of the command, whatever sending took of it."""
    max_time_s = options.budget.max_time_s
    until_s = math.inf if max_time_s is None else options.started_s + max_time_s
    return JudgingLimit(until_s, f"--max-time {max_time_s:g}, while judging" if max_time_s is not None else "")


def _with_spent(options: RunOptions, records: list[Record]) -> BudgetLimits:
    """Return the limits of a run with what earlier plans have spent; the first record begins with the preflight."""
    spent = Spent(
        sum(record.requests for record in records),
        sum(record.tokens for record in records),
        time.monotonic() - options.started_s,
    )
    return replace(options.budget, spent=spent)


def _open_client(options: RunOptions, secret: Secret | None) -> Client:
    base = parse_target(options.url, load_contract(options.dialect)).base
    return Client(base, secret, headers=options.headers, verify=options.verify)


def _split_kept(
    record: Record,
) -> tuple[dict[tuple[str, str], Exchange], dict[tuple[str, str], NotObserved]]:
    """Return the exchanges that can be judged, and why the others cannot: an answer that was not kept shows nothing."""
    exchanges, missing = {}, dict(record.missing)
    for key, exchange in record.exchanges.items():
        if exchange.failure is not None and exchange.failure.kind == "not-kept":
            missing[key] = NotObserved(f"its answer was not kept: {exchange.failure.detail}")
        else:
            exchanges[key] = exchange
    return exchanges, missing


def conclude(
    prepared: PreparedRun, record: Record, started_at: str, duration_s: float, limit: JudgingLimit | None = None
) -> RunOutcome:
    """Judge a record within a limit, and build the report. The limit names in the record what ended judging."""
    limit = limit or JudgingLimit()
    plan, contract, options = prepared.plan, prepared.plan.contract, prepared.options
    validator = Validator(contract)
    exchanges, missing = _split_kept(record)
    checks = gather_checks(contract)
    further = (*list_canary_assertions(exchanges, contract, checks), *list_load_assertions(exchanges, contract, checks))
    judgements = judge((*plan.assertions, *further), exchanges, contract, validator, prepared.model, missing, limit)
    causes: Causes = {}
    limit.run(lambda: causes.update(find_causes(judgements, exchanges, contract, validator, prepared.model)))
    if limit.reason is not None and (record.exhausted is None or limit.reason == INTERRUPTED):
        record.exhausted = limit.reason
    report = verdict.build_report(
        plan,
        judgements,
        strict=options.strict,
        exhausted=record.exhausted,
        waivers=options.waivers,
        causes={**causes, **attribute_lost(judgements, record.exhausted)},
    )
    answered = prepared.answered or any(map(is_completion, exchanges.values()))
    if not answered and (report.verdict is verdict.Verdict.CONFORMANT or report.unjudged or record.exhausted == DIED):
        report = replace(report, verdict=verdict.Verdict.INCONCLUSIVE, exhausted=NO_COMPLETION, unjudged=None)
    facts = RunFacts(
        url=prepared.target.chat_url,
        model=prepared.model,
        declaration=prepared.declaration,
        only=options.only,
        topics=options.topics,
        depth=options.depth,
        draw=options.draw,
        known=tuple(prepared.contract.capabilities),
        strict=options.strict,
        started_at=started_at,
        duration_s=duration_s,
        insecure=options.verify is False,
        key_variable=options.key_variable,
        annotate=options.annotate,
    )
    sent = {judgement.assertion.requirement.id for judgement in judgements if judgement.exchanges}
    coverage = count_sentences(prepared.contract, plan, report.rows, sent, exhausted=record.exhausted is not None)
    results = build_results(report, record, contract, facts, coverage)
    return RunOutcome(prepared, record, judgements, report, results)
