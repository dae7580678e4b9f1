"""Test that a default is held only by a pair of requests that can differ."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.exchange import Exchange, Request, Response, Segment
from conformance.judge.check_registry import gather_checks
from conformance.judge.judgement import judge
from conformance.plan.plan import make_plan
from conformance.plan.scenarios import defaults
from openapi.contract.contract import ABSENT, load
from openapi.contract.defaults import OTHERS, other_values, stated_default
from openapi.description.validation import Validator
from reference_server.faults.generated.default_faults import default_faults_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.judge.judgement import Judgement
    from conformance.scenario import Step
    from openapi.contract.contract import Contract

DOCUMENTED = ("mindie-2.3", "mindie-vllm-1.0", "mindie-1.0", "siliconstorm", "ovms-2024")


def stated(contract: Contract) -> dict[str, Any]:
    """Return the defaults that the contract states, by parameter."""
    values = {name: stated_default(parameter) for name, parameter in contract.parameters.items()}
    return {name: value for name, value in values.items() if value is not ABSENT}


def answered(step: Step, text: str) -> Exchange:
    """Return the answer to a step with this content."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    body = json.dumps({"choices": [choice]}).encode()
    response = Response(200, "", "HTTP/1.1", (), (Segment(0.1, body),), 0.1, 0.1, complete=True)
    request = Request("POST", "http://h/", (), json.dumps(step.body).encode())
    return Exchange(step.name, defaults.SCENARIO, step.name, request, response, None, "2026-11-20T00:00:00+00:00")


def judged(dialect: str, text_of: Callable[[dict[str, Any], str], str]) -> dict[str, Judgement]:
    """Judge a server whose answers are a function of the request, and return the judgements by parameter."""
    contract = load(dialect)
    scenarios = defaults.generate(contract)
    plan = make_plan(contract, scenarios, {"parameters.default-held": gather_checks()["parameters.default-held"]})
    exchanges = {
        (scenario.id, step.name): answered(step, text_of(dict(step.body or {}), step.name))
        for scenario in scenarios
        for step in scenario.steps
    }
    judgements = judge(plan.assertions, exchanges, contract, Validator(contract), "m", {})
    return {item.assertion.requirement.id.split(".")[1]: item for item in judgements}


def effective(body: dict[str, Any], known: dict[str, Any]) -> str:
    """Return a string that depends on every parameter, with the server's defaults for those that are left out."""
    return json.dumps({**known, **body}, sort_keys=True)


@pytest.mark.parametrize("dialect", DOCUMENTED)
def test_every_default_that_answers_show_has_a_pair(dialect: str) -> None:
    contract = load(dialect)
    assert set(judged(dialect, lambda body, _: effective(body, stated(contract)))) == set(stated(contract)) & set(
        OTHERS
    )


@pytest.mark.parametrize("dialect", DOCUMENTED)
def test_a_server_with_the_documented_defaults_passes(dialect: str) -> None:
    known = stated(load(dialect))
    for name, judgement in judged(dialect, lambda body, _: effective(body, known)).items():
        assert (name, judgement.findings, judgement.unobserved) == (name, (), None)


@pytest.mark.parametrize("dialect", DOCUMENTED)
def test_another_default_is_reported_for_its_parameter_alone(dialect: str) -> None:
    contract = load(dialect)
    known = stated(contract)
    for name in set(known) & set(OTHERS):
        other = other_values(contract.parameters[name], lambda _: True)[-1]
        wrong = {**known, name: other}
        reported = judged(dialect, lambda body, _, wrong=wrong: effective(body, wrong))  # type: ignore[misc]
        assert {key for key, judgement in reported.items() if judgement.findings} == {name}


def test_a_parameter_without_effect_is_not_exercised() -> None:
    judgements = judged("mindie-2.3", lambda _body, _name: "always the same")
    assert {judgement.unobserved for judgement in judgements.values()} == {
        "another value of the parameter is answered alike"
    }


def test_answers_that_do_not_repeat_are_not_reported() -> None:
    judgements = judged("mindie-2.3", lambda _body, name: f"different each time: {name}")
    assert {judgement.unobserved for judgement in judgements.values()} == {"the answers of this server do not repeat"}


@pytest.mark.parametrize("dialect", DOCUMENTED)
def test_every_pair_has_a_fault(dialect: str) -> None:
    contract = load(dialect)
    faults = {fault.name.removeprefix("default:") for fault in default_faults_of(contract)}
    assert faults == set(stated(contract)) & set(OTHERS)


def test_the_pairs_of_a_dialect_take_at_most_forty_requests() -> None:
    for dialect in DOCUMENTED:
        (scenario,) = defaults.generate(load(dialect))
        assert sum(step.round == 1 for step in scenario.steps) <= 40


def test_penalties_are_shown_by_a_greedy_answer_where_the_temperature_is_low() -> None:
    contract = load("mindie-2.3")
    temperature = contract.parameters["temperature"]
    low = replace(temperature, schema={**temperature.schema, "maximum": 1.25})
    cold = replace(contract, parameters={**contract.parameters, "temperature": low})
    penalties = {"presence_penalty", "frequency_penalty", "repetition_penalty"}
    for one, expected in ((contract, set()), (cold, penalties)):
        (scenario,) = defaults.generate(one)
        subjects = [step.subject for step in scenario.steps if step.subject is not None]
        assert expected == {one.parameter for one in subjects if one.roles["sent"].startswith("repeated-")}
