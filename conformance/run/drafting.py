"""Draft the plan for a server from its declared capabilities and the user's selection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from conformance.errors import UsageError
from conformance.judge import schemathesis_oracle as oracle
from conformance.judge.check_registry import gather_checks
from conformance.plan.assertion_list import find_covered, list_assertions, shows
from conformance.plan.capabilities import DeclaredCapabilities, narrow_contract
from conformance.plan.capability_use import list_unjudged
from conformance.plan.depth import limit_plan, without_thorough_steps
from conformance.plan.plan import find_unmatched, make_plan, require_known_topics, require_matches
from conformance.plan.scenarios import boundaries, client_headers, greedy_bounds, list_scenarios
from conformance.plan.scenarios.combinations import tasks
from conformance.plan.scenarios.prompts import prompt_parts, text_kinds
from conformance.plan.scenarios.schemathesis_cases import NOTHING, Draw, draw
from conformance.plan.scenarios.written import reading
from openapi.contract.capability import Capability
from openapi.contract.contract import load, names
from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from collections.abc import Collection

    from conformance.check import Check
    from conformance.plan.assertion import Assertion
    from conformance.plan.depth import Depth
    from conformance.plan.plan import Plan
    from conformance.report.waivers import Waiver
    from conformance.scenario import Scenario
    from openapi.contract.contract import Contract

    Known = tuple[frozenset[str], frozenset[str], frozenset[str]]

KEPT: Final = 8  # plans, and what they are selected from; each has some megabytes


@dataclass(frozen=True, slots=True)
class _Possible:
    """Everything that can be sent to a server with some capabilities, and judged: plans are selected from it.

    contract: narrowed to these capabilities.
    """

    contract: Contract
    scenarios: tuple[Scenario, ...]
    assertions: tuple[Assertion, ...]


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
    checks = tuple(gather_checks(contract).values())
    return _draft(contract, _know(capabilities), checks, only, topics, wanted, depth)


def _know(capabilities: DeclaredCapabilities) -> Known:
    """Return what a plan depends on, without where it is known from."""
    return frozenset(capabilities.declared), frozenset(capabilities.denied), capabilities.neutral_only


@lru_cache(maxsize=KEPT)
def _draft(
    contract: Contract,
    known: Known,
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
    is_whole = not (only or topics)  # a selection takes few steps by itself
    possible = _list_possible(contract, known, checks, wanted, thorough=depth == "thorough" or not is_whole)
    by_id = {check.id: check for check in checks}
    plan = make_plan(
        possible.contract,
        possible.scenarios,
        by_id,
        only,
        undeclared,
        topics,
        possible.assertions,
        thorough=depth == "thorough",
    )
    if undeclared and plan.uncovered:
        # A requirement that only requests for an undeclared capability exercise is not applicable, and not uncovered.
        complete, all_scenarios = _list_scenarios(contract, _extremes(contract)[0])
        covered = find_covered(plan.uncovered, complete, all_scenarios, by_id)
        uncovered = tuple(row for row in plan.uncovered if row.id not in covered)
        inapplicable = tuple(row for row in plan.uncovered if row.id in covered)
        plan = replace(plan, uncovered=uncovered, inapplicable=inapplicable)
    plan = replace(plan, unjudged=list_unjudged(plan))
    plan = _explain_uncovered(plan) if plan.uncovered else plan
    return limit_plan(plan, depth)


@lru_cache(maxsize=KEPT)
def _list_possible(
    contract: Contract, known: Known, checks: tuple[Check, ...], wanted: Draw, *, thorough: bool = True
) -> _Possible:
    """List what every plan for these capabilities is selected from. Cached: the plans of one command share it."""
    narrowed, scenarios = _list_scenarios(contract, known)
    if not thorough:
        scenarios = without_thorough_steps(scenarios)
    drawn = draw(narrowed, wanted)
    assertions = list_assertions(narrowed, (*scenarios, *drawn), {check.id: check for check in checks})
    return _Possible(narrowed, (*scenarios, *drawn), (*assertions, *oracle.assertions(narrowed, drawn)))


@lru_cache(maxsize=KEPT)
def _list_scenarios(contract: Contract, known: Known) -> tuple[Contract, tuple[Scenario, ...]]:
    """Return the contract for a server with these capabilities, and all scenarios for it."""
    declared, denied, neutral_only = known
    capabilities = DeclaredCapabilities(declared, denied, "", neutral_only=neutral_only)
    narrowed = narrow_contract(contract, capabilities)
    return narrowed, list_scenarios(contract, narrowed, capabilities)


def _explain_uncovered(plan: Plan) -> Plan:
    """Return the plan with a reason for each requirement that only requests exercise which the contract forbids."""
    contract = plan.contract
    checks = gather_checks(contract)
    unfit = [
        item
        for module in (reading, boundaries, client_headers, greedy_bounds, prompt_parts, text_kinds, tasks)
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
    checks = gather_checks(contract)
    require_known_topics(topics, {**checks, **(oracle.CHECKS if wanted != NOTHING else {})})
    # Most patterns match rows of the contract; what else they may match takes seconds to list.
    rows = [name for name in _list_rows(contract) if not topics or checks[name].topic in topics]
    only = tuple(pattern for pattern in only if not any(fnmatchcase(row, pattern) for row in rows))
    assertions: list[Assertion] = []
    for known in _extremes(contract):  # most patterns match something of a server that declares all
        if only := find_unmatched(only, assertions, topics):
            assertions += _list_extreme(contract, known, wanted)
    require_matches(only, assertions, contract, topics)


def keep_known(contract: Contract, requirements: tuple[str, ...], wanted: Draw = NOTHING) -> tuple[str, ...]:
    """Return those of the requirements that single requests show; others are about a run as a whole."""
    known = _list_requirements(contract, wanted)
    return tuple(name for name in requirements if name in known)


def require_matching_waivers(waivers: Collection[Waiver], judged: Collection[Contract]) -> None:
    """Raise UsageError for a waiver that matches no requirement of any dialect, so that it could never apply.

    A file may be shared by runs against several dialects, so a waiver for a dialect that is not judged is accepted.
    """
    left = [waiver for waiver in waivers if not any(map(waiver.covers, oracle.CHECKS))]
    seen: set[str] = set()
    for list_known in (_list_rows, _list_requirements):  # most waivers are of rows, and the others take seconds
        if not left:
            return
        for contract in (*judged, *(load(name) for name in dict.fromkeys(names().values()))):
            known = list_known(contract)
            left = [waiver for waiver in left if not any(map(waiver.covers, known))]
            seen |= known
    for waiver in left:
        raise UsageError(f"--waivers {waiver.file}: {waiver.id!r} matches no requirement{suggest(waiver.id, seen)}")


def _list_rows(contract: Contract) -> set[str]:
    """Return the ids of the requirements that are rows of the contract, and not made from its parameters."""
    return contract.requirements.keys() & gather_checks(contract).keys()


def _list_requirements(contract: Contract, wanted: Draw = NOTHING) -> set[str]:
    """Return the ids of the requirements that some server is judged by, whatever capabilities it declares."""
    extremes = (_list_extreme(contract, known, wanted) for known in _extremes(contract))
    return {assertion.requirement.id for assertions in extremes for assertion in assertions}


def _list_extreme(contract: Contract, known: Known, wanted: Draw) -> tuple[Assertion, ...]:
    return _list_possible(contract, known, tuple(gather_checks(contract).values()), wanted).assertions


def _extremes(contract: Contract) -> tuple[Known, Known]:
    """Return what is known of a server that declares all capabilities, and of one that denies all."""
    everything, nothing = frozenset(contract.capabilities), frozenset[str]()
    return (everything, nothing, nothing), (nothing, everything, nothing)
