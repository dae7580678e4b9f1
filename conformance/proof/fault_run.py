"""Judge the server with one fault, and find what it violates that the faultless server does not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import jsonschema_rs

from conformance.client.client import Client
from conformance.client.secret import Secret
from conformance.client.untimed_client import UntimedClient
from conformance.errors import HarnessError
from conformance.judge.applicability import requests_several
from conformance.judge.causes import find_causes
from conformance.judge.judgement import judge
from conformance.judging_thread import judge_in_thread
from conformance.plan.capabilities import DeclaredCapabilities
from conformance.plan.selection import narrow_scenario, needed_requests
from conformance.proof.fault_host import FAULTLESS
from conformance.proof.kill import TIMING_CHECKS, find_kills
from conformance.proof.scenario_selection import select_all
from conformance.record import BudgetLimits
from conformance.run.calls import ServerUnderTest
from conformance.run.drafting import draft
from conformance.run.embedded_server import MEDIA_HOST, MEDIA_PATH
from conformance.run.media.media_places import MediaPlaces
from conformance.run.preflight import Preflight
from conformance.run.run import Run
from conformance.run.session.options import RunOptions
from conformance.run.session.preparation import prepare_server
from conformance.run.session.target import parse_target
from openapi.contract.contract import load
from openapi.description.validation import Validator
from openapi.stream.strict_json import NOT_JSON

if TYPE_CHECKING:
    from collections.abc import Collection

    from conformance.judge.judgement import Judgement
    from conformance.plan.depth import Depth
    from conformance.plan.plan import Plan
    from conformance.proof.fault_host import HostedFault, RunningFaultHost
    from conformance.proof.kill import Kill
    from conformance.proof.scenario_selection import Selection
    from conformance.record import Record
    from conformance.scenario import Scenario
    from openapi.contract.contract import Contract

FAULT_DEADLINE_S = 8.0  # for one exchange, because a fault may never answer
FAULTLESS_DEADLINE_S = 60.0
CONCURRENCY = 4
DESCRIPTION_ATTEMPTS = 6
MAX_TRIES = 3  # of a fault, if our own event loop stalled, because arrival times are then not judged
MAX_GENERATED_TOKENS = 64
"""Generated scenarios whose answers may be longer than this are used only for faults of their own parameter."""
LIMITS = ("max_tokens", "max_completion_tokens")
"""The parameters whose values only seem to cost much: answers to their requests end by themselves."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The faultless server of a dialect, judged: its plan and validator, and the requirements that it violates."""

    contract: Contract
    declaration: DeclaredCapabilities
    plan: Plan
    validator: Validator
    model: str
    kills: frozenset[Kill]
    errors: tuple[str, ...]
    depth: Depth = "thorough"


async def fetch_description(host: RunningFaultHost, name: str, contract: Contract) -> object:
    """Return the description of a server, which a busy machine may take several attempts to send within the limit.

    name: the dialect or the variant in its address.
    """
    secret, url = _read_secret(host, contract), host.address(name)
    preflight = Preflight(UntimedClient(url, secret), parse_target(url, contract), contract)
    description = await preflight.fetch_description()
    for _ in range(DESCRIPTION_ATTEMPTS - 1):
        if description is not NOT_JSON:
            break
        description = await preflight.fetch_description()
    return description


async def prepare_baseline(host: RunningFaultHost, dialect: str, depth: Depth = "thorough") -> Baseline:
    """Return the plan for the faultless server of a dialect, without judging it."""
    contract = load(dialect)
    if await fetch_description(host, dialect, contract) is NOT_JSON:  # another plan would be judged without a word
        raise HarnessError(f"the server of {dialect} sends no description")
    options = RunOptions(
        url=host.address(dialect), dialect=dialect, depth=depth, media_host=MEDIA_HOST, media_path=MEDIA_PATH
    )
    prepared = await prepare_server(options, _read_secret(host, contract))
    plan = prepared.plan
    validator = Validator(plan.contract)
    return Baseline(contract, prepared.declaration, plan, validator, prepared.model, frozenset(), (), depth)


async def measure_baseline(
    host: RunningFaultHost, dialect: str, depth: Depth = "thorough", judged: Depth | None = None
) -> Baseline:
    """Judge the faultless server of a dialect.

    depth: of the plan that faults are tested with. judged: of the plan that this server is judged with, if another one.
    """
    baseline = await prepare_baseline(host, dialect, depth)
    plan = baseline.plan
    if judged not in (None, depth):
        plan = draft(baseline.contract, baseline.declaration, depth=judged)
    judgements, _ = await _judge(host, baseline, FAULTLESS, plan, FAULTLESS_DEADLINE_S)
    errors = tuple(judgement.error for judgement in judgements if judgement.error)
    return replace(baseline, kills=frozenset(find_kills(judgements)), errors=errors)


async def run_fault(
    host: RunningFaultHost,
    baseline: Baseline,
    fault: HostedFault,
    select: Selection = select_all,
    *,
    explain: bool = False,
) -> frozenset[Kill]:
    """Return the requirements that a fault violates and the baseline does not.

    select: chooses among the scenarios that can show the fault.
    explain: find the causes of violations that are consequences of others.
    """
    baseline = await judge_in_thread(_apply_declarations, baseline, fault)
    selected = select(tuple(scenario for scenario in baseline.plan.scenarios if _can_show(fault, scenario)))
    plan = _narrow(baseline.plan, selected, None if fault.origin else fault.parameter)
    for _ in range(MAX_TRIES):
        deadline_s = fault.timeout_s or (FAULTLESS_DEADLINE_S if fault.benign else FAULT_DEADLINE_S)
        judgements, record = await _judge(host, baseline, fault.name, plan, deadline_s)
        if not _has_stalled(record):
            break
    if errors := [judgement.error for judgement in judgements if judgement.error]:
        raise HarnessError(f"fault {fault.name}: {errors[0]}")
    ignored = {
        kill.requirement for kill in baseline.kills if fault.timeout_s is None or kill.check not in TIMING_CHECKS
    }
    kills = [kill for kill in find_kills(judgements) if kill.requirement not in ignored]
    if explain and kills:
        exchanges, validator, model = record.exchanges, baseline.validator, baseline.model
        causes = await judge_in_thread(find_causes, judgements, exchanges, plan.contract, validator, model)
        kills = [replace(kill, causes=causes.get(kill.requirement, ())) for kill in kills]
    return frozenset(kills)


def _apply_declarations(baseline: Baseline, fault: HostedFault) -> Baseline:
    """Return the baseline with the plan for the capabilities that the server declares while it has the fault."""
    if not fault.declares and not fault.denies:
        return baseline
    declared = (baseline.declaration.declared | set(fault.declares)) - set(fault.denies)
    declared &= set(baseline.contract.capabilities)
    denied = frozenset(baseline.contract.capabilities) - declared
    declaration = DeclaredCapabilities(declared, denied, "the fault")
    plan = draft(baseline.contract, declaration, depth=baseline.depth)
    return replace(baseline, declaration=declaration, plan=plan, validator=Validator(plan.contract))


def _narrow(plan: Plan, ids: Collection[str], parameter: str | None) -> Plan:
    """Return the part of a plan with these scenarios.

    parameter: the only one that a fault concerns. A scenario about several parameters is reduced to its steps.
    """
    scenarios = [scenario for scenario in plan.scenarios if scenario.id in ids]
    assertions = [assertion for assertion in plan.assertions if assertion.scenario.id in ids]
    if parameter is not None:
        chosen = {
            request
            for assertion in assertions
            if (subject := assertion.scenario.subject_of(assertion.step)) is not None and subject.parameter == parameter
            for request in needed_requests(assertion)
        }
        scenarios = [narrow_scenario(scenario, chosen) for scenario in scenarios]
        assertions = [assertion for assertion in assertions if needed_requests(assertion) <= chosen]
    return replace(plan, scenarios=tuple(scenarios), assertions=tuple(assertions))


def _can_show(fault: HostedFault, scenario: Scenario) -> bool:
    """Return whether a scenario can show a fault, and no shorter scenario shows the same.

    A fault of a parameter shows in requests with that parameter. For other faults the generated requests with long
    answers are left out, because written scenarios show the same. Nothing is left out for a fault of another author,
    which is tested like the server of a user, unless it says in which requests it shows.
    """
    if fault.shows_in is not None:
        schema = dict(fault.shows_in)
        return any(jsonschema_rs.is_valid(schema, step.body) for step in scenario.steps if step.body)
    if fault.origin:
        return True
    subject = scenario.subject
    if fault.parameter is not None:
        subjects = (scenario.subject_of(step) for step in scenario.steps)
        return any(subject is not None and subject.parameter == fault.parameter for subject in subjects)
    if subject is not None and subject.parameter not in LIMITS and _count_tokens(scenario) > MAX_GENERATED_TOKENS:
        return False
    # Rounds of trials are statistics of the sampling, except that choices of one answer may be edited.
    several = any(map(requests_several, scenario.steps))
    statistical = scenario.rounds and not scenario.spread and not several
    if statistical and fault.affects not in ("requests", "sampling"):
        return False
    if fault.affects in ("answers", "sampling"):
        return subject is None or subject.expect == "accept"
    return fault.affects != "refusals" or any(step.expect != "answer" for step in scenario.steps)


def _count_tokens(scenario: Scenario) -> int:
    return sum(step.tokens for step in scenario.steps)


async def _judge(
    host: RunningFaultHost, baseline: Baseline, fault: str, plan: Plan, deadline_s: float
) -> tuple[tuple[Judgement, ...], Record]:
    """Send a plan to a fault and judge the answers."""
    contract, model = baseline.contract, baseline.model
    target = parse_target(host.address(contract.location, fault), contract)
    limits = BudgetLimits(deadline_s=deadline_s, concurrency=CONCURRENCY)
    async with _open_client(host, contract, fault) as client:
        record = await Run(plan, ServerUnderTest(client, target, model, MediaPlaces(host.media)), limits).execute()
    judgements = await judge_in_thread(
        judge, plan.assertions, record.exchanges, plan.contract, baseline.validator, model, record.missing
    )
    return judgements, record


def _has_stalled(record: Record) -> bool:
    """Return whether our own event loop stalled during a run."""
    responses = (exchange.response for exchange in record.exchanges.values())
    return any(response is not None and response.stalled_s > 0 for response in responses)


def _open_client(host: RunningFaultHost, contract: Contract, fault: str) -> Client:
    return Client(host.address(contract.location, fault), _read_secret(host, contract))


def _read_secret(host: RunningFaultHost, contract: Contract) -> Secret | None:
    return Secret(host.key) if contract.auth == "bearer" else None
