"""Every effect stands next to everything else in a request of a standard run that a check of the effect judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.plan.capabilities import DeclaredCapabilities
from conformance.plan.scenarios.combinations import crowd_parts, crowds
from conformance.proof.recorded_run import read_recorded_run
from conformance.run.drafting import draft
from openapi.contract.contract import load, names

if TYPE_CHECKING:
    from conformance.plan.scenarios.combinations.crowd_parts import Part

DIALECTS = sorted(set(names().values()))
PARTS = {part.name: part for part in (*crowd_parts.EFFECTS, *crowd_parts.OTHERS)}
MOST_REQUESTS = 24


def _has(body: dict[str, object], part: Part, known: set[str]) -> bool:
    """Return whether a request has what a part says; media are told by their kind."""
    values = {name: value for name, value in part.values.items() if name in known}
    messages = body["messages"]
    assert isinstance(messages, list)
    asked = [item for item in messages if item["role"] == "user"][-1]
    shown = not part.medium or part.name in repr(asked["content"])
    said = all(item in messages for item in (*part.messages, *part.after))
    return shown and values.items() <= body.items() and said


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_effect_meets_each_part_where_a_check_judges_it(dialect: str) -> None:
    contract = load(dialect)
    plan = draft(contract, DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), ""), depth="standard")
    judged: dict[tuple[str, str], list[dict[str, object]]] = {}
    for item in plan.assertions:
        if item.scenario.id.startswith(crowds.CROWDS) and not item.scenario.unless_answered:
            for shown in item.step.name.split("-"):
                judged.setdefault((shown, item.check.id), []).append(dict(item.step.body or {}))
    known = set(contract.parameters)
    pairs = list(crowds.Crowds(contract).list_pairs())
    assert len(pairs) >= 40
    absent = [
        (effect.name, part.name)
        for effect, part in pairs
        if not any(
            _has(body, effect, known) and _has(body, part, known)
            for body in judged.get((effect.name, effect.check), ())
        )
    ]
    assert [] == absent


@pytest.mark.parametrize("dialect", DIALECTS)
def test_few_requests_show_all_pairs(dialect: str) -> None:
    groups = list(crowds.Crowds(load(dialect)).cover())
    assert len(groups) <= MOST_REQUESTS
    forms = {"stream" in {part.name for part in group} for group in groups}
    assert {True, False} == forms


def test_parts_name_others_that_exist() -> None:
    named = {name for part in PARTS.values() for name in part.hidden_by | part.apart}
    assert set() == named - PARTS.keys()


def test_a_request_without_what_a_server_may_refuse_is_sent_only_if_the_other_one_is_refused() -> None:
    scenarios = {scenario.id: scenario for scenario in crowds.generate(load("vllm"))}
    optional = [item for item in scenarios.values() if item.steps[0].expect == "either"]
    assert optional
    for scenario in optional:
        assert scenario.id == scenarios[f"{scenario.id}-usual"].unless_answered


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_request_says_how_to_call_tools_that_it_does_not_offer(dialect: str) -> None:
    bodies = [step.body or {} for scenario in crowds.generate(load(dialect)) for step in scenario.steps]
    assert [] == [body for body in bodies if "parallel_tool_calls" in body and "tools" not in body]


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", ["mindie-2.3", "openai", "vllm"])
def test_the_answers_of_a_correct_server_are_long_enough_for_their_forms_and_calls(dialect: str) -> None:
    cut = []
    for (scenario, step), exchange in read_recorded_run(dialect).exchanges.items():
        shown = {*step.split("-")}
        if scenario.startswith(crowds.CROWDS) and exchange.status == 200:
            without = [choice for choice in exchange.choices.values() if not choice.tool_calls]
            cut += [step for _ in without if shown & crowd_parts.CALLS]
            cut += [step for choice in without if shown & {"form", "choice"} and choice.finish_reason != "stop"]
    assert [] == cut
