"""Select the scenarios that show the perturbations of a variant."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from random import Random
from typing import TYPE_CHECKING

from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from conformance.plan.plan import Plan
    from openapi.perturbation.perturbation import Perturbation, Variant

CHANGED = 60  # scenarios that the perturbations change, at most; a parameter that is required now changes all of them
SAMPLE = 0.15  # of the scenarios that the perturbations do not change


def choose(scenarios: frozenset[str], most: int | None, random: Random) -> frozenset[str]:
    """Return at most this number of the scenarios."""
    return scenarios if most is None or len(scenarios) <= most else frozenset(random.sample(sorted(scenarios), most))


def sample_changed(variant: Variant, plan: Plan, unperturbed: Plan) -> frozenset[str]:
    """Return the scenarios about perturbed parameters, and samples of those that perturbations change and of others.

    A scenario is changed if its requests are others than in the dialect, or if more is required of their answers.
    """
    random, before = Random(variant.to_text()), {scenario.id: scenario for scenario in unperturbed.scenarios}
    required, required_before = _requirements(plan), _requirements(unperturbed)
    names = {item.fact.split("/")[1] for item in variant.perturbations if item.fact.startswith("parameters/")}
    about = {item.id for item in plan.scenarios if item.subject is not None and item.subject.parameter in names}
    changed = {
        scenario.id
        for scenario in plan.scenarios
        if before.get(scenario.id) != scenario or required[scenario.id] - required_before[scenario.id]
    }
    others = {scenario.id for scenario in plan.scenarios if random.random() < SAMPLE} - changed
    return frozenset(about) | choose(frozenset(changed), CHANGED, random) | others


def _requirements(plan: Plan) -> dict[str, set[tuple[str, str, Keyword]]]:
    """Return what is required of the steps of each scenario."""
    required: dict[str, set[tuple[str, str, Keyword]]] = {scenario.id: set() for scenario in plan.scenarios}
    for assertion in plan.assertions:
        row = assertion.requirement
        required[assertion.scenario.id].add((assertion.step.name, row.id, row.keyword))
    return required


def find_scenarios(perturbation: Perturbation, plan: Plan) -> frozenset[str] | None:
    """Return the scenarios that show a perturbation; None if nothing demands that a server follows it."""
    kind, _, name = perturbation.fact.partition("/")
    parameter = plan.contract.parameters.get(name.partition("/")[0]) if kind == "parameters" else None
    if not perturbation.shown_by or (parameter is not None and parameter.lacking):
        return None
    matching = [item for item in plan.assertions if matches(perturbation, item.requirement.id)]
    binding = [item for item in matching if item.requirement.keyword is not Keyword.MAY]
    may = matching or [item for item in plan.assertions if _matches_may(perturbation, item.requirement.id)]
    if not binding and (may or _is_left_out(perturbation, plan)):
        return None
    return frozenset(item.scenario.id for item in binding)


def _is_left_out(perturbation: Perturbation, plan: Plan) -> bool:
    """Return whether the contract allows no request that shows the perturbation, as for some defaults."""
    return perturbation.fact.endswith("/default") or any(matches(perturbation, row.id) for row, _ in plan.left_out)


def matches(perturbation: Perturbation, requirement: str) -> bool:
    """Return whether a requirement can show a perturbation."""
    return any(fnmatchcase(requirement, pattern) for pattern in perturbation.shown_by)


def _matches_may(perturbation: Perturbation, requirement: str) -> bool:
    return any(fnmatchcase(requirement, f"{pattern}-may") for pattern in perturbation.shown_by)


def narrow(plan: Plan, ids: frozenset[str]) -> Plan:
    """Return the plan with only these scenarios."""
    return replace(
        plan,
        scenarios=tuple(scenario for scenario in plan.scenarios if scenario.id in ids),
        assertions=tuple(assertion for assertion in plan.assertions if assertion.scenario.id in ids),
    )
