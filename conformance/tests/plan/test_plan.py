"""Plans: which checks judge which steps, what the patterns of --only select, and the maximum cost."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

import pytest

from conformance.errors import UsageError
from conformance.judge.check_registry import gather_checks
from conformance.plan import plan
from conformance.plan.capabilities import DeclaredCapabilities, default_capabilities
from conformance.plan.conditions import list_conditions
from conformance.plan.selection import needed_requests
from conformance.run.drafting import draft, require_matching_patterns
from conformance.scenario import UNLIMITED_TOKENS, Scenario, Step
from conformance.tests.plan.listed_scenarios import list_for
from openapi.contract.contract import Keyword, Requirement, load, names

if TYPE_CHECKING:
    from conformance.plan.assertion import Assertion
    from conformance.plan.plan import Plan
    from openapi.contract.contract import Contract

DIALECTS = sorted(set(names().values()))


def everything(contract: Contract) -> DeclaredCapabilities:
    """All capabilities declared."""
    return DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), "a test")


def nothing(contract: Contract) -> DeclaredCapabilities:
    """All capabilities denied."""
    return DeclaredCapabilities(frozenset(), frozenset(contract.capabilities), "a test")


@cache
def narrowed(*only: str, thorough: bool = True) -> Plan:
    """Return the part of a plan that `only` selects."""
    return draft(
        load("mindie-2.3"), default_capabilities(load("mindie-2.3")), only, depth="thorough" if thorough else "standard"
    )


def named(assertion: Assertion) -> tuple[str, str, str]:
    """Return the names that a pattern may match."""
    return assertion.check.id, assertion.requirement.id, assertion.scenario.id


@pytest.mark.takes_turns
@pytest.mark.parametrize(
    ("dialect", "declare"),
    [(name, everything) for name in DIALECTS] + [("mindie-2.3", nothing), ("vllm", default_capabilities)],
)
def test_every_assertion_has_a_unique_id_and_a_requirement(dialect: str, declare: object) -> None:
    contract = load(dialect)
    drafted = draft(contract, declare(contract))  # type: ignore[operator]
    identities = [assertion.id for assertion in drafted.assertions]
    assert sorted(set(identities)) == sorted(identities)
    assert {assertion.check.id for assertion in drafted.assertions} <= set(contract.requirements)
    assert all(assertion.requirement.source.partition("#")[2] for assertion in drafted.assertions)


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_requirement_of_a_dialect_is_covered(dialect: str) -> None:
    contract = load(dialect)
    assert not draft(contract, everything(contract)).uncovered
    assert set(contract.requirements) <= set(gather_checks())


def test_no_scenario_sends_a_parameter_that_the_contract_does_not_name() -> None:
    contract = load("openai")
    bodies = [
        step.body or {}
        for scenario in draft(contract, default_capabilities(contract)).scenarios
        for step in scenario.steps
    ]
    unnamed = {name for body in bodies for name in body} - {*contract.parameters, "model"}
    assert {"chatproof_unknown"} == unnamed


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_requirement_of_a_value_has_one_keyword_and_one_check(dialect: str) -> None:
    contract = load(dialect)
    rows: dict[str, set[tuple[Keyword, str]]] = {}
    for assertion in draft(contract, everything(contract)).assertions:
        rows.setdefault(assertion.requirement.id, set()).add((assertion.requirement.keyword, assertion.check.id))
    assert not {key: kinds for key, kinds in rows.items() if len(kinds) > 1}


@pytest.mark.parametrize(
    "pattern", ["stream.done-last", "stream.*", "parameters.temperature.*", "greedy", "temperature-*", "*.usage-once"]
)
def test_a_pattern_selects_thoroughly_exactly_what_it_matches_and_presupposes(pattern: str) -> None:
    every, kept = narrowed(), narrowed(pattern)
    matching = [item for item in every.assertions if any(fnmatchcase(name, pattern) for name in named(item))]
    sent = {(scenario.id, step.name) for scenario in kept.scenarios for step in scenario.steps}
    presupposed = [
        item
        for item in every.assertions
        if "response" in item.check.invalidates and item.step.expect != "either" and needed_requests(item) <= sent
    ]
    assert matching
    assert {item.id for item in (*matching, *presupposed)} == {item.id for item in kept.assertions}
    assert len({item.id for item in kept.assertions}) == len(kept.assertions)
    assert {assertion.scenario.id for assertion in kept.assertions} == {scenario.id for scenario in kept.scenarios}
    assert kept.requests <= every.requests
    assert (kept.uncovered, kept.undeclared) == ((), ())


@pytest.mark.parametrize("pattern", ["stream.done-last", "http.*", "parameters.temperature.*"])
def test_few_requests_show_every_selected_requirement_under_each_condition(pattern: str) -> None:
    every, few = narrowed(pattern), narrowed(pattern, thorough=False)
    alone = {assertion.id for assertion in few.assertions if not assertion.scenario.shared}
    assert alone <= {assertion.id for assertion in every.assertions}

    def shown(plan: Plan) -> set[object]:
        return {
            (assertion.requirement.id, condition)
            for assertion in plan.assertions
            if fnmatchcase(assertion.requirement.id, pattern)
            for condition in list_conditions(assertion, plan.contract)
        }

    assert shown(every) <= shown(few)
    sent = {(scenario.id, step.name) for scenario in few.scenarios for step in scenario.steps}
    judged = {
        (assertion.scenario.id, name)
        for assertion in few.assertions
        for name in assertion.check.steps(assertion.scenario, assertion.step, {step for _, step in sent})
    }
    assert judged <= sent
    assert all(few.scenarios)


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_check_of_streams_needs_fewer_than_20_requests(dialect: str) -> None:
    contract = load(dialect)
    assert draft(contract, everything(contract), ("stream.done-last",), depth="standard").requests < 20


def test_a_scenario_that_is_selected_by_name_keeps_all_its_steps() -> None:
    every = {scenario.id: scenario for scenario in narrowed().scenarios}
    (greedy,) = narrowed("greedy", thorough=False).scenarios
    assert greedy == every["greedy"]
    everything_named = (scenario.id for scenario in narrowed("*", thorough=False).scenarios)
    assert tuple(everything_named) == tuple(scenario.id for scenario in narrowed().scenarios)


def test_a_step_keeps_the_steps_that_it_depends_on() -> None:
    few = narrowed("stream.*", "http.*", "errors.server-goes-on", thorough=False)
    kept = {scenario.id: {step.name for step in scenario.steps} for scenario in few.scenarios}
    every = {scenario.id: scenario for scenario in narrowed().scenarios}
    cut = [scenario for scenario in few.scenarios for step in scenario.steps if step.stop_from is not None]
    assert cut
    assert all(
        step.stop_from.step in kept[scenario.id] for scenario in cut for step in scenario.steps if step.stop_from
    )
    tied = [name for name in kept if every[name].together or every[name].one_connection]
    assert tied
    assert all(kept[name] == {step.name for step in every[name].steps} for name in tied if not every[name].rounds)
    assert kept["goes-on-after-errors"] == {step.name for step in every["goes-on-after-errors"].steps}


def test_several_patterns_select_their_union_in_the_order_of_the_plan() -> None:
    parts = {assertion.id for pattern in ("greedy", "stop-*") for assertion in narrowed(pattern).assertions}
    assert [assertion.id for assertion in narrowed().assertions if assertion.id in parts] == [
        assertion.id for assertion in narrowed("stop-*", "greedy").assertions
    ]


@pytest.mark.parametrize("pattern", ["nothing.like-this", "", "greedy ", "stream.done"])
def test_a_pattern_that_matches_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match=r"matches no check, requirement or scenario of mindie-2\.3") as caught:
        narrowed("greedy", pattern)
    assert repr(pattern) in str(caught.value)


def test_a_pattern_that_matches_in_another_topic_only_is_refused_with_that_topic() -> None:
    contract = load("mindie-2.3")
    with pytest.raises(UsageError, match=r"'usage\.\*' matches nothing in --topic stream, only in usage: "):
        require_matching_patterns(contract, ("usage.*",), ("stream",))
    require_matching_patterns(contract, ("usage.*",), ("stream", "usage"))


def test_the_maximum_cost_is_the_sum_over_all_steps() -> None:
    drafted = narrowed("greedy", "goes-on-after-errors")
    assert (drafted.requests, drafted.tokens) == (4 + 3, 4 * 48 + 4)


@pytest.mark.parametrize(
    ("step", "tokens"),
    [
        (Step(body={"max_tokens": 7}), 7),
        (Step(body={"max_tokens": 7, "n": 3}), 21),
        (Step(body={"max_tokens": 7, "best_of": 3}), 21),
        (Step(body={"max_tokens": 7, "n": 2, "best_of": 3}), 21),
        (Step(body={}), UNLIMITED_TOKENS),
        (Step(body={"max_tokens": None}), UNLIMITED_TOKENS),
        (Step(body={"max_tokens": 2**31 - 1}), UNLIMITED_TOKENS),
        (Step(body={"max_tokens": True}), UNLIMITED_TOKENS),
        (Step(body={"max_tokens": 7}, expect="either"), 7),
        (Step(body={"max_tokens": 7}, expect="refusal"), 0),
        (Step(raw=b"{"), 0),
        (Step(method="GET", path="models"), 0),
    ],
)
def test_the_maximum_tokens_of_a_request(step: Step, tokens: int) -> None:
    assert tokens == step.tokens


def test_a_requirement_that_no_scenario_exercises_is_listed() -> None:
    contract = load("mindie-2.3")
    capabilities = default_capabilities(contract)
    judged, scenarios = list_for(contract, capabilities)
    sent = [scenario for scenario in scenarios if scenario.id not in ("get-chat", "unknown-path")]
    made = plan.make_plan(judged, sent, gather_checks())
    assert {"http.allow-header", "http.get-refused", "http.unknown-path-is-404"} == {row.id for row in made.uncovered}


def test_a_requirement_of_an_undeclared_capability_is_not_uncovered() -> None:
    contract = load("mindie-2.3")
    row = Requirement("http.get-refused", Keyword.MUST, "a#b", capability="tools")
    lacking = replace(contract.without({"tools"}), requirements={row.id: row})
    having = replace(contract, requirements={row.id: row})
    sent = [Scenario("one", "", (Step(),))]
    assert ((), (row,)) == tuple(
        plan.make_plan(variant, sent, gather_checks()).uncovered for variant in (lacking, having)
    )


def test_a_relation_is_judged_once_at_its_last_step() -> None:
    assertions = [item for item in narrowed("greedy").assertions if item.check.id == "stream.text-as-plain"]
    assert [(assertion.scenario.id, assertion.step.name) for assertion in assertions] == [("greedy", "streamed-again")]
