"""Judge variants of dialects: the server that serves one must pass, the server of the dialect must be reported."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from conformance.client.client import Client
from conformance.client.secret import Secret
from conformance.errors import HarnessError
from conformance.judge.judgement import judge
from conformance.judging_thread import judge_in_thread
from conformance.plan.capabilities import capabilities_from_description
from conformance.proof.contracts.variant_scenarios import (
    IndexedPlan,
    choose,
    find_scenarios,
    index_plan,
    matches,
    sample_changed,
)
from conformance.proof.fault_run import fetch_description
from conformance.proof.kill import TIMING_CHECKS, find_kills
from conformance.proof.scenario_selection import narrow
from conformance.record import BudgetLimits
from conformance.report.outcome import Outcome
from conformance.report.verdict import build_report
from conformance.run.calls import ServerUnderTest
from conformance.run.drafting import draft
from conformance.run.run import Run
from conformance.run.session.target import load_contract, parse_target
from openapi.contract.contract import Keyword
from openapi.description.validation import Validator
from openapi.perturbation.perturbation import Variant

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from conformance.judge.judgement import Judgement
    from conformance.plan.plan import Plan
    from conformance.proof.fault_host import RunningFaultHost
    from conformance.record import Record
    from conformance.report.requirement_row import RequirementRow
    from openapi.contract.contract import Contract
    from openapi.perturbation.perturbation import Perturbation

DEADLINE_S = 60.0  # for one exchange
CONCURRENCY = 4
SHOWN_BY = 12  # scenarios that must show a perturbation; if they do not, all that can are sent
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


class VariantJudge:
    """Judges both servers by contracts of variants. The plans of the dialects are drafted once.

    Unless `thorough`, only the scenarios that a perturbation changes and a sample of the others are sent. Each variant
    has a sample of its own.
    """

    def __init__(self, host: RunningFaultHost, *, thorough: bool = False) -> None:
        self._host = host
        self._thorough = thorough
        self._plans: dict[str, IndexedPlan] = {}

    async def judge(self, variant: Variant) -> VariantResult:
        """Judge the server of a variant and that of its dialect by the contract of the variant."""
        contract = await judge_in_thread(variant.build)
        unperturbed = await self._plan_of_dialect(variant.dialect)
        name = VARIANT + variant.to_text()
        indexed = await self._draft(name, contract)
        plan = indexed.plan
        sent = plan if self._thorough else narrow(plan, sample_changed(variant, indexed, unperturbed))
        rows, requests = await _report(self._host, name, sent, plan)
        lacking = {capability.name for capability in unperturbed.plan.undeclared}
        shown_by = [
            (item, find_scenarios(item, indexed))
            for item in variant.perturbations
            if item.lacks not in lacking  # what both servers lack does not tell them apart
        ]
        demanded = [(item, scenarios) for item, scenarios in shown_by if scenarios is not None]
        missed, also = await self._find_missed(variant, plan, demanded)
        return VariantResult(variant, tuple(rows), missed, len(demanded), requests + also)

    async def _find_missed(
        self, variant: Variant, plan: Plan, demanded: Sequence[tuple[Perturbation, frozenset[str]]]
    ) -> tuple[tuple[Perturbation, ...], int]:
        """Return the perturbations of which nothing is reported about the server of the dialect, and the requests."""
        random, missed, requests = Random(variant.to_text()), demanded, 0
        for most in (SHOWN_BY, None):
            chosen = (choose(scenarios, most, random) for _, scenarios in missed)
            narrowed = narrow(plan, frozenset().union(*chosen))
            kills, sent = await _find_violations(self._host, variant.dialect, narrowed)
            missed = [
                (item, scenarios)
                for item, scenarios in missed
                if not any(matches(item, requirement) for requirement in kills)
            ]
            requests += sent
        return tuple(item for item, _ in missed), requests

    async def _plan_of_dialect(self, dialect: str) -> IndexedPlan:
        if dialect not in self._plans:
            self._plans[dialect] = await self._draft(dialect, load_contract(dialect))
        return self._plans[dialect]

    async def _draft(self, name: str, contract: Contract) -> IndexedPlan:
        description = await fetch_description(self._host, name, contract)
        return await judge_in_thread(_draft, contract, description, key=contract.auth == "bearer")


def _draft(contract: Contract, description: object, *, key: bool) -> IndexedPlan:
    capabilities = capabilities_from_description(contract, description)
    if capabilities is None:
        raise HarnessError(f"the server of a variant of {contract.name} has no description")
    return index_plan(draft(contract, capabilities.with_key(contract, key=key)))


async def _report(host: RunningFaultHost, name: str, sent: Plan, complete: Plan) -> tuple[list[str], int]:
    """Return what a strict run reports about the server of a variant.

    What a requirement is about may be shown only by scenarios that are not sent, so it may be untestable then.
    """
    judgements, record = await _send(host, name, sent)
    report = await judge_in_thread(build_report, sent, judgements, strict=True, exhausted=None)
    judged, demanded = (Counter(item.requirement.id for item in plan.assertions) for plan in (sent, complete))
    failing = [
        row
        for row in report.rows
        if _is_failure(row) and (row.outcome is not Outcome.UNTESTABLE or judged[row.id] == demanded[row.id])
    ]
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
    judgements = await judge_in_thread(
        judge, plan.assertions, record.exchanges, contract, Validator(contract), contract.default_model, record.missing
    )
    return judgements, record


async def shrink(result: VariantResult, judge_variant: Callable[[Variant], Awaitable[VariantResult]]) -> VariantResult:
    """Return the result of the smallest part of a variant that fails, leaving out one perturbation after another.

    A failure that does not repeat is returned as it is.
    """
    smallest = result
    for perturbation in result.variant.perturbations:
        rest = tuple(item for item in smallest.variant.perturbations if item != perturbation)
        if not rest:
            break
        smaller = await judge_variant(Variant(result.variant.dialect, rest))
        if not smaller.holds:
            smallest = smaller
    return smallest
