"""The effect of a parameter is judged only where the bytes that are sent contain it, never by a scenario's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.plan.capabilities import DeclaredCapabilities
from conformance.run.drafting import draft
from openapi.contract.contract import load

if TYPE_CHECKING:
    from conformance.scenario import Scenario, Step

ABOUT_ABSENCE = {"effects.unseeded-answers-differ", "effects.null-seed-is-none"}
"""Checks of what a request without the parameter, or with null, must show."""


def _contains(step: Step, name: str) -> bool:
    return step.raw is not None or (step.body or {}).get(name) is not None or (name == "stop" and bool(step.stop_from))


def _judged_steps(scenario: Scenario, names: tuple[str, ...]) -> list[Step]:
    return [step for step in scenario.steps if step.name in names]


def test_an_effect_is_judged_only_where_the_parameter_is_sent() -> None:
    contract = load("mindie-2.3")
    optional = {name for name, item in contract.parameters.items() if not item.required and item.capability is None}
    gateway = DeclaredCapabilities(
        frozenset(contract.capabilities), frozenset(), "its description", neutral_only=frozenset(optional)
    )
    plan = draft(contract, gateway)
    assert {"effects-of-penalties", "long-answer"} <= {scenario.id for scenario in plan.scenarios}, "pruned scenarios"
    unfounded = set()
    for assertion in plan.assertions:
        check, name = assertion.check, assertion.requirement.parameter
        made = {step.name for step in assertion.scenario.steps} if check.whole else ()
        steps = _judged_steps(assertion.scenario, check.steps(assertion.scenario, assertion.step, made))
        if check.by_subject or name is None:
            continue
        judges_effect = check.topic in ("effects", "sampling") and check.id not in ABOUT_ABSENCE
        pruned = any(name in step.pruned for step in steps)
        if pruned or (judges_effect and not any(_contains(step, name) for step in steps)):
            unfounded.add(f"{assertion.id} is judged without {name}")
    assert not unfounded


def test_the_end_is_ignored_only_on_request() -> None:
    plan = draft(load("mindie-2.3"), DeclaredCapabilities(frozenset(), frozenset(), "nothing"))
    judged = [assertion for assertion in plan.assertions if assertion.check.id == "sampling.eos-ignored"]
    assert judged
    assert all((assertion.step.body or {})["ignore_eos"] is True for assertion in judged)
