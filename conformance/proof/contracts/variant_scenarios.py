"""Select the scenarios that show the perturbations of a variant."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from random import Random
from typing import TYPE_CHECKING

from conformance.proof.scenario_selection import limit_requests
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.plan.plan import Plan
    from openapi.perturbation.perturbation import Perturbation, Variant

CHANGED = 24  # scenarios that the perturbations change, at most; a parameter that is required now changes all of them
SAMPLE = 0.02  # of the scenarios that the perturbations do not change


def choose(scenarios: frozenset[str], most: int | None, random: Random) -> frozenset[str]:
    """Return at most this number of the scenarios."""
    return scenarios if most is None or len(scenarios) <= most else frozenset(random.sample(sorted(scenarios), most))


@dataclass(frozen=True, slots=True)
class IndexedPlan:
    """A plan, and what it requires of each scenario.

    by_requirement: the scenarios that show each requirement with each of its keywords.
    by_scenario: what is required of the steps of each scenario.
    """

    plan: Plan
    by_requirement: Mapping[tuple[str, Keyword], set[str]]
    by_scenario: Mapping[str, set[tuple[str, str, Keyword]]]


def index_plan(plan: Plan) -> IndexedPlan:
    """Index a plan once, because it has tens of thousands of assertions of a few hundred requirements."""
    by_requirement: dict[tuple[str, Keyword], set[str]] = {}
    by_scenario: dict[str, set[tuple[str, str, Keyword]]] = {scenario.id: set() for scenario in plan.scenarios}
    for assertion in plan.assertions:
        row, scenario = assertion.requirement, assertion.scenario.id
        by_requirement.setdefault((row.id, row.keyword), set()).add(scenario)
        by_scenario[scenario].add((assertion.step.name, row.id, row.keyword))
    return IndexedPlan(plan, by_requirement, by_scenario)


def sample_changed(variant: Variant, indexed: IndexedPlan, unperturbed: IndexedPlan) -> frozenset[str]:
    """Return the scenarios about perturbed parameters, and samples of those that perturbations change and of others.

    A scenario is changed if its requests are others than in the dialect, or if more is required of their answers.
    """
    plan, random = indexed.plan, Random(variant.to_text())
    before = {scenario.id: scenario for scenario in unperturbed.plan.scenarios}
    names = {item.fact.split("/")[1] for item in variant.perturbations if item.fact.startswith("parameters/")}
    about = {item.id for item in plan.scenarios if item.subject is not None and item.subject.parameter in names}
    changed = {
        scenario.id
        for scenario in plan.scenarios
        if before.get(scenario.id) != scenario
        or indexed.by_scenario[scenario.id] - unperturbed.by_scenario[scenario.id]
    }
    others = {scenario.id for scenario in plan.scenarios if random.random() < SAMPLE} - changed
    return frozenset(about) | limit_requests(choose(frozenset(changed), CHANGED, random), plan, random) | others


def find_scenarios(perturbation: Perturbation, indexed: IndexedPlan) -> frozenset[str] | None:
    """Return the scenarios that show a perturbation; None if nothing demands that a server follows it."""
    plan = indexed.plan
    kind, _, name = perturbation.fact.partition("/")
    parameter = plan.contract.parameters.get(name.partition("/")[0]) if kind == "parameters" else None
    if not perturbation.shown_by or (parameter is not None and parameter.lacking):
        return None
    matching = {key for key in indexed.by_requirement if matches(perturbation, key[0])}
    binding = {key for key in matching if key[1] is not Keyword.MAY}
    may = matching or any(_matches_may(perturbation, requirement) for requirement, _ in indexed.by_requirement)
    if not binding and (may or _is_left_out(perturbation, plan)):
        return None
    return frozenset().union(*(indexed.by_requirement[key] for key in binding))


def _is_left_out(perturbation: Perturbation, plan: Plan) -> bool:
    """Return whether the contract allows no request that shows the perturbation, as for some defaults."""
    return perturbation.fact.endswith("/default") or any(matches(perturbation, row.id) for row, _ in plan.left_out)


def matches(perturbation: Perturbation, requirement: str) -> bool:
    """Return whether a requirement can show a perturbation."""
    return any(fnmatchcase(requirement, pattern) for pattern in perturbation.shown_by)


def _matches_may(perturbation: Perturbation, requirement: str) -> bool:
    return any(fnmatchcase(requirement, f"{pattern}-may") for pattern in perturbation.shown_by)
