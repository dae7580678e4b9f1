"""The depth of a run: a smoke test is small, the usual run has a limit, and nothing is sent that is not in the plan."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from conformance.judge.check_registry import gather_checks
from conformance.plan.capabilities import DeclaredCapabilities
from conformance.plan.depth import DEPTHS, QUICK_REQUESTS, Depth
from conformance.plan.expected_cost import estimate_cost
from conformance.plan.traced_sentences import map_sentences
from conformance.run.drafting import draft
from openapi.contract.contract import Keyword, load, names

if TYPE_CHECKING:
    from conformance.plan.plan import Plan

DIALECTS = sorted(set(names().values()))
LEFT_OUT = {
    "mindie-1.0": 1,
    "mindie-2.3": 2,
    "mindie-vllm-1.0": 1,
    "openai": 10,
    "ovms-2024": 0,
    "siliconstorm": 1,
    "vllm": 27,
}
"""Recommendations that only a thorough run judges. More requests for other facts push further ones out."""


@cache
def plan_of(dialect: str, depth: Depth) -> Plan:
    """Return the plan for a server with all capabilities."""
    contract = load(dialect)
    return draft(contract, DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), ""), depth=depth)


def judged(dialect: str, depth: Depth, keyword: Keyword) -> set[str]:
    """Return the ids of the requirements with a keyword that a run judges."""
    return {item.requirement.id for item in plan_of(dialect, depth).assertions if item.requirement.keyword is keyword}


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_quick_run_has_few_requests_and_tokens(dialect: str) -> None:
    plan = plan_of(dialect, "quick")
    requests, tokens = plan.requests, plan.tokens  # pytest would print the whole plan, which takes gigabytes
    assert requests <= QUICK_REQUESTS < 60
    assert tokens <= 500


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_standard_run_usually_sends_at_most_900_requests_and_12000_completion_tokens(dialect: str) -> None:
    contract = load(dialect)
    denied = frozenset({"media"} & set(contract.capabilities))
    known = DeclaredCapabilities(frozenset(contract.capabilities) - denied, denied, "")
    cost = estimate_cost(draft(contract, known, depth="standard"))
    assert cost.requests <= 900
    assert cost.completion_tokens <= 12_000


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_media_cost_at_most_85_more_requests(dialect: str) -> None:
    cost = estimate_cost(plan_of(dialect, "standard"))
    assert cost.requests <= 900 + 85


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_depth_judges_part_of_the_next(dialect: str) -> None:
    quick, standard, thorough = (plan_of(dialect, depth) for depth in DEPTHS)
    for less, more in ((quick, standard), (standard, thorough)):
        assert {assertion.requirement.id for assertion in less.assertions} <= {
            assertion.requirement.id for assertion in more.assertions
        }


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_standard_run_judges_every_must(dialect: str) -> None:
    assert judged(dialect, "thorough", Keyword.MUST) == judged(dialect, "standard", Keyword.MUST)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_standard_run_leaves_out_few_recommendations(dialect: str) -> None:
    left_out = judged(dialect, "thorough", Keyword.SHOULD) - judged(dialect, "standard", Keyword.SHOULD)
    assert LEFT_OUT[dialect] == len(left_out)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_standard_run_sends_a_value_for_each_sentence_that_only_values_show(dialect: str) -> None:
    sent, known = (
        {item.scenario.id for item in plan_of(dialect, depth).assertions if item.scenario.subject}
        for depth in DEPTHS[1:]
    )
    contract, thorough = load(dialect), plan_of(dialect, "thorough")
    checks = gather_checks(contract)
    unseen = {
        traced.sentence.id
        for traced in map_sentences(contract, thorough, checks)
        if traced.sentence.keyword is Keyword.MUST
        and all("/probes/" in place for place in traced.sentence.home.places)
        and (shown := {item.scenario.id for item in traced.assertions if item.scenario.id in known})
        and shown.isdisjoint(sent)
        and not any(item.scenario.unless_answered for item in traced.assertions)
    }
    assert set() == unseen


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_judged_is_sent(dialect: str) -> None:
    plan = plan_of(dialect, "quick")
    sent = {(scenario.id, step.name) for scenario in plan.scenarios for step in scenario.steps}
    judged = {
        (item.scenario.id, name)
        for item in plan.assertions
        for name in item.check.steps(item.scenario, item.step, {step.name for step in item.scenario.steps})
    }
    assert judged <= sent


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_another_request_shows_as_well_is_only_in_a_plan_with_that_one(dialect: str) -> None:
    for depth in DEPTHS:
        scenarios = plan_of(dialect, depth).scenarios
        needed = {scenario.unless_answered for scenario in scenarios} - {""}
        assert needed - {scenario.id for scenario in scenarios} == set()
