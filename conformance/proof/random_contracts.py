"""Judge variants of dialects: the server that serves one must pass, the server of the dialect must be reported."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from random import Random
from typing import TYPE_CHECKING

from conformance.client.client import Client
from conformance.client.secret import Secret
from conformance.errors import HarnessError
from conformance.judge.judgement import judge
from conformance.plan.capabilities import capabilities_from_description
from conformance.proof.kill import TIMING_CHECKS, find_kills
from conformance.record import BudgetLimits
from conformance.report.verdict import Outcome, build_report
from conformance.run.calls import ServerUnderTest
from conformance.run.drafting import draft
from conformance.run.preflight import Preflight
from conformance.run.run import Run
from conformance.run.session import parse_target
from openapi.contract.contract import Keyword
from openapi.description.validation import Validator
from openapi.perturbation.perturbation import Variant

if TYPE_CHECKING:
    from conformance.judge.judgement import Judgement
    from conformance.plan.plan import Plan
    from conformance.proof.fault_host import RunningFaultHost
    from conformance.record import Record
    from conformance.report.verdict import RequirementRow
    from openapi.contract.contract import Contract
    from openapi.perturbation.perturbation import Perturbation

DEADLINE_S = 60.0  # for one exchange
CONCURRENCY = 4
SAMPLE = 0.15  # of the generated scenarios about parameters that are not perturbed
VARIANT = "variant."  # in front of the name of a variant in the URL of the fault host


@dataclass(frozen=True, slots=True)
class VariantResult:
    """What the suite reported about a variant.

    false_positives: what it reported about the server that serves the variant.
    missed: the perturbations that it did not report about the server of the dialect.
    shown: the number of perturbations that it had to report.
    requests: how many requests it sent.
    """

    variant: Variant
    false_positives: tuple[str, ...]
    missed: tuple[Perturbation, ...]
    shown: int
    requests: int

    @property
    def holds(self) -> bool:
        """Whether the suite was right about both servers."""
        return not self.false_positives and not self.missed


async def judge_variant(host: RunningFaultHost, variant: Variant, *, thorough: bool = False) -> VariantResult:
    """Judge both servers by the contract of a variant.

    Unless `thorough`, only one in seven generated scenarios about parameters that are not perturbed is sent. Different
    ones are chosen for each variant.
    """
    contract = await asyncio.to_thread(variant.build)
    name = VARIANT + variant.to_text()
    secret = Secret(host.key) if contract.auth == "bearer" else None
    description = await _fetch_description(host, name, contract)
    plan = await asyncio.to_thread(_draft, contract, description, key=secret is not None)
    rows, sent = await _report(host, name, plan if thorough else _narrow(plan, _sample(variant, plan)))
    unperturbed = capabilities_from_description(contract, await _fetch_description(host, variant.dialect, contract))
    denied = frozenset[str]() if unperturbed is None else unperturbed.denied  # both servers lack these
    found = [(item, find_scenarios(item, plan)) for item in variant.perturbations if item.lacks not in denied]
    demanded = [(item, scenarios) for item, scenarios in found if scenarios is not None]
    narrowed = _narrow(plan, frozenset().union(*(scenarios for _, scenarios in demanded)))
    kills, also_sent = await _find_violations(host, variant.dialect, narrowed)
    missed = [item for item, _ in demanded if not any(_matches(item, requirement) for requirement in kills)]
    return VariantResult(variant, tuple(rows), tuple(missed), len(demanded), sent + also_sent)


async def _fetch_description(host: RunningFaultHost, name: str, contract: Contract) -> object:
    secret, url = Secret(host.key) if contract.auth == "bearer" else None, host.address(name)
    async with Client(url, secret) as client:
        return await Preflight(client, parse_target(url, contract), contract).fetch_description()


def _draft(contract: Contract, description: object, *, key: bool) -> Plan:
    capabilities = capabilities_from_description(contract, description)
    if capabilities is None:
        raise HarnessError(f"the server of a variant of {contract.name} has no description")
    return draft(contract, capabilities.with_key(contract, key=key))


def _sample(variant: Variant, plan: Plan) -> frozenset[str]:
    """Return the scenarios that a perturbation can affect, and a sample of the others."""
    names = {item.fact.split("/")[1] for item in variant.perturbations if item.fact.startswith("parameters/")}
    random = Random(variant.to_text())
    return frozenset(
        scenario.id
        for scenario in plan.scenarios
        if scenario.subject is None or scenario.subject.parameter in names or random.random() < SAMPLE
    )


def find_scenarios(perturbation: Perturbation, plan: Plan) -> frozenset[str] | None:
    """Return the scenarios that show a perturbation; None if nothing demands that a server follows it."""
    kind, _, name = perturbation.fact.partition("/")
    parameter = plan.contract.parameters.get(name.partition("/")[0]) if kind == "parameters" else None
    if not perturbation.shown_by or (parameter is not None and parameter.lacking):
        return None
    matching = [item for item in plan.assertions if _matches(perturbation, item.requirement.id)]
    binding = [item for item in matching if item.requirement.keyword is not Keyword.MAY]
    may = matching or [item for item in plan.assertions if _matches_may(perturbation, item.requirement.id)]
    if not binding and (may or _is_left_out(perturbation, plan)):
        return None
    return frozenset(item.scenario.id for item in binding)


def _is_left_out(perturbation: Perturbation, plan: Plan) -> bool:
    """Return whether the contract allows no request that shows the perturbation, as for some defaults."""
    return perturbation.fact.endswith("/default") or any(_matches(perturbation, row.id) for row, _ in plan.left_out)


def _matches(perturbation: Perturbation, requirement: str) -> bool:
    return any(fnmatchcase(requirement, pattern) for pattern in perturbation.shown_by)


def _matches_may(perturbation: Perturbation, requirement: str) -> bool:
    return any(fnmatchcase(requirement, f"{pattern}-may") for pattern in perturbation.shown_by)


def _narrow(plan: Plan, ids: frozenset[str]) -> Plan:
    return replace(
        plan,
        scenarios=tuple(scenario for scenario in plan.scenarios if scenario.id in ids),
        assertions=tuple(assertion for assertion in plan.assertions if assertion.scenario.id in ids),
    )


async def _report(host: RunningFaultHost, name: str, plan: Plan) -> tuple[list[str], int]:
    """Return what a strict run reports about the server of a variant."""
    judgements, record = await _send(host, name, plan)
    report = await asyncio.to_thread(build_report, plan, judgements, strict=True, exhausted=None)
    failing = [row for row in report.rows if _is_failure(row)]
    return [_describe(row) for row in failing], record.requests


def _is_failure(row: RequirementRow) -> bool:
    """Return whether a row fails a strict run, for another reason than the speed of a busy machine."""
    bad = (Outcome.FAIL, Outcome.WARN, Outcome.ERROR)
    untestable = row.outcome is Outcome.UNTESTABLE and row.keyword is not Keyword.MAY
    return (row.outcome in bad or untestable) and row.check not in TIMING_CHECKS


def _describe(row: RequirementRow) -> str:
    if not row.findings:
        return f"{row.id}: {row.outcome}: {row.note}"
    located = row.findings[0]
    finding = located.finding
    return f"{row.id}: {located.scenario}: {finding.where}: expected {finding.expected}, got {finding.got}"


async def _find_violations(host: RunningFaultHost, name: str, plan: Plan) -> tuple[frozenset[str], int]:
    """Return the requirements that the server of the dialect violates, and the number of requests."""
    if not plan.scenarios:
        return frozenset(), 0
    judgements, record = await _send(host, name, plan)
    kills = find_kills(judgements)
    return frozenset(kill.requirement for kill in kills if kill.strength != "o"), record.requests


async def _send(host: RunningFaultHost, name: str, plan: Plan) -> tuple[tuple[Judgement, ...], Record]:
    contract = plan.contract
    url = host.address(name)
    secret = Secret(host.key) if contract.auth == "bearer" else None
    limits = BudgetLimits(deadline_s=DEADLINE_S, concurrency=CONCURRENCY)
    async with Client(url, secret) as client:
        server = ServerUnderTest(client, parse_target(url, contract), contract.default_model)
        record = await Run(plan, server, limits).execute()
    judgements = await asyncio.to_thread(
        judge, plan.assertions, record.exchanges, contract, Validator(contract), contract.default_model, record.missing
    )
    return judgements, record


async def shrink(host: RunningFaultHost, result: VariantResult, *, thorough: bool = False) -> VariantResult:
    """Return the result of the smallest part of a variant that fails, leaving out one perturbation after another.

    A failure that does not repeat is returned as it is.
    """
    smallest = result
    for perturbation in result.variant.perturbations:
        rest = tuple(item for item in smallest.variant.perturbations if item != perturbation)
        if not rest:
            break
        smaller = await judge_variant(host, Variant(result.variant.dialect, rest), thorough=thorough)
        if not smaller.holds:
            smallest = smaller
    return smallest
