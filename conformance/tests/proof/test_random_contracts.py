"""Random contracts: what the suite must report follows from the plan, and a failure shrinks to its cause."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random

import pytest
from click.testing import CliRunner

from conformance.plan.capabilities import DeclaredCapabilities
from conformance.proof.contracts.contracts_command import command
from conformance.proof.contracts.variant_judge import VariantResult, shrink
from conformance.proof.contracts.variant_scenarios import IndexedPlan, find_scenarios, index_plan, sample_changed
from conformance.proof.scenario_selection import LONG_REQUESTS, SHORT
from conformance.run.drafting import draft
from openapi.contract.contract import load
from openapi.perturbation.drawing import draw_variant, list_perturbations
from openapi.perturbation.perturbation import Perturbation, Variant

DIALECTS = ("mindie-2.3", "openai", "ovms-2024")


def plan_for(variant: Variant) -> IndexedPlan:
    """The plan for a server of a variant."""
    contract = variant.build()
    declared = frozenset(contract.capabilities) - variant.lacking
    return index_plan(draft(contract, DeclaredCapabilities(declared, variant.lacking, "a test")))


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_requirement_of_the_plan_tests_every_perturbation_that_a_request_shows(dialect: str) -> None:
    variant = draw_variant(dialect, 5)
    plan = plan_for(variant)
    untested = [item.line for item in variant.perturbations if find_scenarios(item, plan) == frozenset()]
    assert not untested


def test_a_perturbation_without_a_binding_requirement_is_not_demanded() -> None:
    found = list_perturbations(load("ovms-2024"), Random(0))
    removed = next(item for item in found if item.fact == "parameters/top_k")
    assert find_scenarios(removed, plan_for(Variant("ovms-2024", (removed,)))) is None


def test_the_scenarios_that_a_perturbation_changes_are_sent_and_few_others() -> None:
    variant = draw_variant("ovms-2024", 7)
    before, plan = plan_for(Variant("ovms-2024")), plan_for(variant)
    sent = sample_changed(variant, plan, before)
    known = {scenario.id: scenario for scenario in before.plan.scenarios}
    changed = {
        scenario.id
        for scenario in plan.plan.scenarios
        if known.get(scenario.id) != scenario and len(scenario.steps) <= SHORT
    }
    assert changed
    assert changed <= sent
    assert len(sent) < len(plan.plan.scenarios) / 2


def test_of_long_scenarios_that_change_some_are_drawn_for_each_contract() -> None:
    drawn = []
    for seed in (4, 10):
        variant = draw_variant("ovms-2024", seed)
        before, plan = plan_for(Variant("ovms-2024")), plan_for(variant)
        known = {scenario.id: scenario for scenario in before.plan.scenarios}
        long = {
            item.id: len(item.steps)
            for item in plan.plan.scenarios
            if known.get(item.id) != item and len(item.steps) > SHORT
        }
        drawn.append(long.keys() & sample_changed(variant, plan, before))
        assert sum(long.values()) > LONG_REQUESTS + max(long.values())
        assert 0 < sum(long[name] for name in drawn[-1]) <= LONG_REQUESTS + max(long.values())
    assert drawn[0] != drawn[1]


def test_a_failure_shrinks_to_the_perturbation_that_causes_it() -> None:
    items = tuple(Perturbation(f"parameters/{name}", None, None, name) for name in "abc")

    async def judge_variant(variant: Variant) -> VariantResult:
        return VariantResult(variant, ("row",) if items[1] in variant.perturbations else (), (), 0, 0)

    first = VariantResult(Variant("ovms-2024", items), ("row",), (), 0, 0)
    assert asyncio.run(shrink(first, judge_variant)).variant.perturbations == (items[1],)
    passing = replace(first, variant=Variant("ovms-2024", (items[0],)))
    assert asyncio.run(shrink(passing, judge_variant)) == passing


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--dialect", "none"], "unknown dialect 'none'"),
        (["--keep", "0"], "--keep selects perturbations of one contract"),
        (["--dialect", "ovms", "--count", "1", "--keep", "99"], "invalid --keep '99': expected some of 0"),
    ],
)
def test_invalid_options_are_refused_in_one_line(options: list[str], line: str) -> None:
    result = CliRunner().invoke(command, options)
    assert result.exit_code == 2
    assert line in result.stderr
    assert result.stderr.count("\n") == 1
