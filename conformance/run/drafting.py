"""Draft the plan for a server from its declared capabilities and the user's selection."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from conformance.errors import UsageError
from conformance.judge import schemathesis_oracle as oracle
from conformance.judge.check_registry import gather_checks
from conformance.plan.capabilities import DeclaredCapabilities, narrow_contract
from conformance.plan.capability_use import list_unjudged
from conformance.plan.depth import limit_plan
from conformance.plan.plan import find_covered, make_plan, require_known_topics, require_matches, shows
from conformance.plan.scenarios import boundaries, greedy_bounds, list_scenarios, prompt_parts, written
from conformance.plan.scenarios.combinations import tasks
from conformance.plan.scenarios.schemathesis_cases import NOTHING, Draw, draw
from openapi.contract.capability import Capability
from openapi.contract.contract import load, names
from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from collections.abc import Collection

    from conformance.check import Check
    from conformance.plan.depth import Depth
    from conformance.plan.plan import Plan
    from conformance.report.waivers import Waiver
    from openapi.contract.contract import Contract

KEPT: Final = 4  # plans; each has some megabytes


def draft(
    contract: Contract,
    capabilities: DeclaredCapabilities,
    only: tuple[str, ...] = (),
    topics: tuple[str, ...] = (),
    wanted: Draw = NOTHING,
    depth: Depth = "thorough",
) -> Plan:
    """Return the plan for a server of this contract with these capabilities.

    `only` and `topics` select checks, of which the plan sends few requests, or all if `depth` is "thorough".
    """
    known = frozenset(capabilities.declared), frozenset(capabilities.denied), capabilities.neutral_only
    return _draft(contract, known, tuple(gather_checks(contract).values()), only, topics, wanted, depth)


@lru_cache(maxsize=KEPT)
def _draft(
    contract: Contract,
    known: tuple[frozenset[str], frozenset[str], frozenset[str]],
    checks: tuple[Check, ...],
    only: tuple[str, ...],
    topics: tuple[str, ...],
    wanted: Draw,
    depth: Depth,
) -> Plan:
    """Draft a plan. Cached: it takes up to a second, and a run drafts some of its plans twice."""
    declared, denied, neutral_only = known
    capabilities = DeclaredCapabilities(declared, denied, "", neutral_only=neutral_only)
    undeclared = (
        *(item for name, item in contract.capabilities.items() if name not in capabilities.declared),
        *_unsupported_parameters(contract, capabilities),
    )
    narrowed = narrow_contract(contract, capabilities)
    drawn = draw(narrowed, wanted)
    scenarios = (*list_scenarios(contract, narrowed, capabilities), *drawn)
    more = oracle.assertions(narrowed, drawn)
    by_id = {check.id: check for check in checks}
    plan = make_plan(narrowed, scenarios, by_id, only, undeclared, topics, more, thorough=depth == "thorough")
    if undeclared and plan.uncovered:
        # A requirement that only requests for an undeclared capability exercise is not applicable, and not uncovered.
        everything = DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), "")
        complete = narrow_contract(contract, everything)
        all_scenarios = list_scenarios(contract, complete, everything)
        covered = find_covered(plan.uncovered, complete, all_scenarios, by_id)
        uncovered = tuple(row for row in plan.uncovered if row.id not in covered)
        inapplicable = tuple(row for row in plan.uncovered if row.id in covered)
        plan = replace(plan, uncovered=uncovered, inapplicable=inapplicable)
    plan = replace(plan, unjudged=list_unjudged(plan))
    plan = _explain_uncovered(plan) if plan.uncovered else plan
    return limit_plan(plan, depth)


def _explain_uncovered(plan: Plan) -> Plan:
    """Return the plan with a reason for each requirement that only requests exercise which the contract forbids."""
    contract = plan.contract
    checks = gather_checks(contract)
    unfit = [
        item
        for module in (written, boundaries, greedy_bounds, prompt_parts, tasks)
        for item in module.list_unfit(contract)
    ]
    left_out = {
        row: next((reason for scenario, reason in unfit if shows(checks[row.id], scenario, contract)), "")
        for row in plan.uncovered
    }
    return replace(
        plan,
        uncovered=tuple(row for row, reason in left_out.items() if not reason),
        left_out=tuple((row, reason) for row, reason in left_out.items() if reason),
    )


def _unsupported_parameters(contract: Contract, capabilities: DeclaredCapabilities) -> tuple[Capability, ...]:
    """Return the parameters that the server accepts with neutral values only, as undeclared capabilities."""
    parameters = (contract.parameters[name] for name in sorted(capabilities.neutral_only))
    return tuple(Capability(item.name, item.summary, item.source, assumed=True) for item in parameters)


def require_matching_patterns(
    contract: Contract, only: tuple[str, ...], topics: tuple[str, ...] = (), wanted: Draw = NOTHING
) -> None:
    """Raise UsageError for a topic or pattern that matches nothing, whatever capabilities a server declares."""
    require_known_topics(topics, {**gather_checks(contract), **(oracle.CHECKS if wanted != NOTHING else {})})
    if only:
        assertions = [assertion for plan in _extreme_plans(contract, wanted) for assertion in plan.assertions]
        require_matches(only, assertions, contract, topics)


def keep_known(contract: Contract, requirements: tuple[str, ...], wanted: Draw = NOTHING) -> tuple[str, ...]:
    """Return those of the requirements that single requests show; others are about a run as a whole."""
    known = {assertion.requirement.id for plan in _extreme_plans(contract, wanted) for assertion in plan.assertions}
    return tuple(name for name in requirements if name in known)


def require_matching_waivers(waivers: Collection[Waiver], judged: Collection[Contract]) -> None:
    """Raise UsageError for a waiver that matches no requirement of any dialect, so that it could never apply.

    A file may be shared by runs against several dialects, so a waiver for a dialect that is not judged is accepted.
    """
    left = [waiver for waiver in waivers if not any(map(waiver.covers, oracle.CHECKS))]
    seen: set[str] = set()
    for contract in (*judged, *(load(name) for name in dict.fromkeys(names().values()))):
        if not left:
            return
        known = {assertion.requirement.id for plan in _extreme_plans(contract) for assertion in plan.assertions}
        left = [waiver for waiver in left if not any(map(waiver.covers, known))]
        seen |= known
    for waiver in left:
        raise UsageError(f"--waivers {waiver.file}: {waiver.id!r} matches no requirement{suggest(waiver.id, seen)}")


def _extreme_plans(contract: Contract, wanted: Draw = NOTHING) -> list[Plan]:
    """Return the plans for a server that declares all capabilities, and for one that denies all."""
    everything = frozenset(contract.capabilities)
    extremes = [DeclaredCapabilities(some, everything - some, "") for some in (everything, frozenset[str]())]
    return [draft(contract, capabilities, wanted=wanted) for capabilities in extremes]
