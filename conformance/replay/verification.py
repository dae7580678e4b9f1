"""Send requests of a recorded run again, and judge whether their findings are fixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.judge.judgement import judge
from conformance.plan.selection import needed_requests
from conformance.replay.resend import find_exchange
from openapi.contract.contract import Keyword
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.exchange import Exchange
    from conformance.judge.judgement import Judgement
    from conformance.plan.assertion import Assertion
    from conformance.replay.rejudge import RebuiltRun
    from conformance.scenario import Scenario

STILL_FAILING, NEW, UNKNOWN, FIXED = STATES = "still failing", "new finding", "not judged", "fixed"
"""The states of a requirement. Of several exchanges the first state in this order is that of the requirement."""


@dataclass(frozen=True, slots=True)
class VerifiedRequirement:
    """A requirement that the recorded answers violate, or the new ones.

    state: FIXED, STILL_FAILING, NEW (only the new answers violate it) or UNKNOWN (the new answers do not show it).
    reason: the finding, or why the requirement was not judged.
    """

    id: str
    keyword: Keyword
    state: str
    reason: str

    def fails(self, *, strict: bool) -> bool:
        """Return whether the requirement is violated, or may be. An optional one never fails."""
        required = self.keyword is Keyword.MUST or (strict and self.keyword is Keyword.SHOULD)
        return required and self.state != FIXED


def select_exchanges(results: dict[str, Any], runs: Sequence[RebuiltRun], identity: str) -> list[Exchange]:
    """Return the exchanges to send again, in the order in which their scenario sends them.

    These are all exchanges of a scenario, or one exchange with the others that its findings depend on, those of the
    requirement if `identity` is one. Raise UsageError for an unknown identity.
    """
    first = find_exchange(results, identity)
    if identity == first.scenario:
        prefix = first.id.removesuffix(f"{first.scenario}/{first.step}")
        return [
            exchange
            for run in runs
            for exchange in run.record.exchanges.values()
            if exchange.id.startswith(f"{prefix}{identity}/")
        ] or [first]
    judged = [results, *results.get("also", ())]
    rows = [row for part in judged for row in part["requirements"] if _is_chosen(row, identity, first)]
    found = {row["id"] for row in rows if any(finding["exchange"] == first.id for finding in row["findings"])}
    selected = {first.id: first}
    for run in runs:
        for assertion in run.prepared.plan.assertions:
            if assertion.requirement.id not in found or assertion.scenario.id != first.scenario:
                continue
            judged_exchanges = list(_recorded(run, assertion).values())
            if judged_exchanges and judged_exchanges[-1].id == first.id:  # a finding names the last one
                made = (run.record.exchanges.get(key) for key in needed_requests(assertion))
                selected |= {exchange.id: exchange for exchange in made if exchange is not None}
    order = [exchange["id"] for exchange in results["exchanges"]]
    return sorted(selected.values(), key=lambda exchange: order.index(exchange.id))


def _is_chosen(row: Mapping[str, Any], identity: str, first: Exchange) -> bool:
    """Return whether the user chose this requirement, or the exchange instead of a requirement."""
    return identity in (first.id, row["id"], row["check"])


def find_scenario(runs: Sequence[RebuiltRun], exchange: Exchange) -> Scenario | None:
    """Return the scenario of an exchange, or None if no plan contains it."""
    scenarios = (scenario for run in runs for scenario in run.prepared.plan.scenarios)
    return next((scenario for scenario in scenarios if scenario.id == exchange.scenario), None)


def verify(
    runs: Sequence[RebuiltRun], sent: Mapping[str, Exchange], requirement: str | None = None
) -> list[VerifiedRequirement]:
    """Judge the recorded and the new answers, and return each requirement that one of them violates.

    sent: the new exchanges, by id. Only requirements whose exchanges were all sent again are judged.
    requirement: the only requirement or check to judge; otherwise all but the optional ones.
    """
    verified: dict[str, VerifiedRequirement] = {}
    for run in runs:
        assertions = [
            assertion
            for assertion in run.prepared.plan.assertions
            if _is_wanted(assertion, requirement)
            and (recorded := _recorded(run, assertion))
            and all(exchange.id in sent for exchange in recorded.values())
        ]
        before = _judge(run, assertions, run.record.exchanges)
        replaced = {key: sent.get(exchange.id, exchange) for key, exchange in run.record.exchanges.items()}
        for old, new in zip(before, _judge(run, assertions, replaced), strict=True):
            if old.findings or new.findings:
                result = _compare(old, new)
                known = verified.setdefault(result.id, result)
                verified[result.id] = min(known, result, key=lambda item: STATES.index(item.state))
    return list(verified.values())


def _is_wanted(assertion: Assertion, requirement: str | None) -> bool:
    if requirement is None:
        return assertion.requirement.keyword is not Keyword.MAY
    return requirement in (assertion.requirement.id, assertion.check.id)


def _recorded(run: RebuiltRun, assertion: Assertion) -> dict[str, Exchange]:
    """Return the recorded exchanges that an assertion judges, by step."""
    scenario = assertion.scenario
    made = {step.name for step in scenario.steps if (scenario.id, step.name) in run.record.exchanges}
    names = assertion.check.steps(scenario, assertion.step, made)
    return {name: run.record.exchanges[scenario.id, name] for name in names if name in made}


def _judge(
    run: RebuiltRun, assertions: Sequence[Assertion], exchanges: Mapping[tuple[str, str], Exchange]
) -> tuple[Judgement, ...]:
    prepared = run.prepared
    contract = prepared.plan.contract
    return judge(assertions, exchanges, contract, Validator(contract), prepared.model, run.record.missing)


def _compare(old: Judgement, new: Judgement) -> VerifiedRequirement:
    requirement = new.assertion.requirement
    if new.findings:
        finding = new.findings[0]
        reason = f"{finding.where}: expected {finding.expected}, got {finding.got}"
        return VerifiedRequirement(requirement.id, requirement.keyword, STILL_FAILING if old.findings else NEW, reason)
    if unknown := new.unobserved or new.error:
        return VerifiedRequirement(requirement.id, requirement.keyword, UNKNOWN, unknown)
    return VerifiedRequirement(requirement.id, requirement.keyword, FIXED, old.assertion.summary)
