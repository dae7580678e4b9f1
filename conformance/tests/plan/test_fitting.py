"""Scenarios follow the contract: what expects an answer is valid, and what the contract forbids is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.plan.capabilities import DeclaredCapabilities
from conformance.plan.scenarios.fitting import ANSWER
from conformance.plan.scenarios.written.reading import read_scenarios
from conformance.report.outcome import Outcome
from conformance.report.verdict import build_report
from conformance.run.drafting import draft
from openapi.contract.contract import load, names
from openapi.description.validation import Validator
from openapi.perturbation.drawing import draw_variant
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from conformance.plan.plan import Plan
    from openapi.contract.contract import Contract

DIALECTS = sorted(set(names().values()))


def with_schema(dialect: str, name: str, **keywords: Any) -> Contract:
    """A dialect whose parameter has other bounds."""
    contract = load(dialect)
    parameter = contract.parameters[name]
    changed = replace(parameter, schema={**parameter.schema, **keywords})
    return replace(contract, parameters={**contract.parameters, name: changed})


def without_parameter(dialect: str, name: str) -> Contract:
    """A dialect without a parameter, and without the requirements about it."""
    contract = load(dialect)
    parameters = {key: item for key, item in contract.parameters.items() if key != name}
    source = f"{contract.document.id}#request/{name}"
    requirements = {key: row for key, row in contract.requirements.items() if row.source != source}
    return replace(contract, parameters=parameters, requirements=requirements)


def plan_for(contract: Contract) -> Plan:
    """The plan for a server that declares everything."""
    return draft(contract, DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), "a test"))


def sent(contract: Contract, name: str) -> set[Any]:
    """The values of a parameter in the written scenarios that expect an answer."""
    steps = [step for scenario in read_scenarios(contract) for step in scenario.steps if step.expect == "answer"]
    return {step.body[name] for step in steps if step.body and name in step.body}


def test_high_temperatures_are_lowered_and_greedy_requests_stay_greedy() -> None:
    temperatures = sent(with_schema("ovms-2024", "temperature", maximum=1.5), "temperature")
    assert max(temperatures) == 1.5
    assert 0 in temperatures


def test_a_temperature_is_not_lowered_until_it_means_something_else() -> None:
    contract = with_schema("ovms-2024", "temperature", maximum=0.6)
    assert max(sent(contract, "temperature")) <= 0.6
    effects = [scenario for scenario in read_scenarios(contract) if scenario.id == "effects-of-sampling"]
    assert not [step.name for scenario in effects for step in scenario.steps if step.part == "hot"]


def with_default(dialect: str, name: str, default: Any) -> Contract:
    """A dialect whose parameter has another default."""
    contract = load(dialect)
    changed = replace(contract.parameters[name], default=default)
    return replace(contract, parameters={**contract.parameters, name: changed})


def test_neutral_values_are_sent_where_the_defaults_are_not_neutral() -> None:
    def penalties(contract: Contract) -> dict[str, Any]:
        listed = {scenario.id: scenario for scenario in read_scenarios(contract)}
        steps = (listed["greedy"].step("plain"), listed["same-request"].step("base.1"))
        said = listed["same-request"].step("defaults.1")
        return {step.name: (step.body or {}).get("frequency_penalty") for step in (*steps, said)}

    assert penalties(load("ovms-2024")) == {"plain": None, "base.1": None, "defaults.1": 0.0}
    changed = with_default("ovms-2024", "frequency_penalty", 0.5)
    assert penalties(changed) == {"plain": 0.0, "base.1": None, "defaults.1": 0.5}


def test_what_the_contract_forbids_is_not_exercised_and_the_reason_is_reported() -> None:
    plan = plan_for(with_schema("ovms-2024", "temperature", minimum=0.5))
    assert not plan.uncovered
    assert plan.left_out
    rows = build_report(plan, (), strict=True, exhausted=None).rows
    row = next(row for row in rows if row.id == plan.left_out[0][0].id)
    assert row.outcome is Outcome.NOT_EXERCISED
    assert row.note.startswith("scenario ")


def test_a_step_is_never_sent_without_what_it_is_about() -> None:
    contract = without_parameter("mindie-2.3", "stream")
    steps = [step for scenario in read_scenarios(contract) for step in scenario.steps if step.expect != "refusal"]
    assert not [step for step in steps if step.streams]
    assert "long-stream" not in {scenario.id for scenario in read_scenarios(contract)}


def test_a_step_for_one_check_is_left_out_where_the_contract_forbids_its_request() -> None:
    contract = load("openai")
    without_developers = {**contract.schemas, "DeveloperMessage": {"not": {}}}
    steps = {
        name: {step.name for scenario in read_scenarios(case) for step in scenario.steps if step.only_for}
        for name, case in (("openai", contract), ("other", replace(contract, schemas=without_developers)))
    }
    custom = {"named", "required-by-grammar"}
    assert {"openai": {"developer", *custom}, "other": custom} == steps


@pytest.mark.takes_turns
@pytest.mark.parametrize(("most", "sent"), [(1024, {24}), (9, {8}), (4, {4}), (3, set())])
def test_as_many_stop_strings_are_sent_as_the_contract_allows(most: int, sent: set[int]) -> None:
    contract = load("openai")
    listed = {"type": "array", "items": {"type": "string"}, "maxItems": most}
    stop = replace(contract.parameters["stop"], schema={"anyOf": [{"type": "string"}, listed]})
    plan = plan_for(replace(contract, parameters={**contract.parameters, "stop": stop}))
    pieces = [step.stop_from for scenario in plan.scenarios for step in scenario.steps if step.stop_from]
    sizes = {len(piece.cut(ANSWER) or ()) for piece in pieces if piece.form == "last-of-many"}
    assert sent == sizes
    assert {"text", "listed", "unfinished"} <= {piece.form for piece in pieces}


def test_required_parameters_are_in_every_request_but_the_one_without_them() -> None:
    contract = load("mindie-2.3")
    required = replace(contract.parameters["top_p"], required=True)
    plan = plan_for(replace(contract, parameters={**contract.parameters, "top_p": required}))
    bodies = [(scenario, step.body) for scenario in plan.scenarios for step in scenario.steps if step.targets_chat]
    without = {scenario.id for scenario, body in bodies if body and "top_p" not in body}
    assert without == {"top_p-missing-refused"}


def test_a_refused_model_is_not_sent_with_another_value_that_is_refused() -> None:
    plan = plan_for(with_schema("openai", "temperature", exclusiveMinimum=0, minimum=0.1))
    bodies = [
        step.body or {}
        for scenario in plan.scenarios
        for step in scenario.steps
        if "model" in (step.body or {}) and scenario.subject is None
    ]
    assert [] == [body for body in bodies if body.get("temperature") == 0]
    assert [] != bodies


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_request_for_an_answer_is_valid_by_a_random_contract(dialect: str) -> None:
    variant = draw_variant(dialect, 11)
    contract = variant.build()
    plan = plan_for(contract)
    validator = Validator(plan.contract)
    for scenario in plan.scenarios:
        for step in scenario.steps:
            if step.targets_chat and step.expect == "answer" and step.credentials == "given":
                body = read_json(step.payload("m", "stop" if step.stop_from else None).decode()).value
                facts = [item.line for item in variant.perturbations]
                assert not validator.request_problems(body), (scenario.id, step.name, facts)
    assert not plan.uncovered


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_written_request_has_more_messages_than_a_contract_allows(dialect: str) -> None:
    plan = plan_for(with_schema(dialect, "messages", maxItems=3))
    sizes = {
        len(step.body["messages"])
        for scenario in plan.scenarios
        for step in scenario.steps
        if scenario.subject is None and step.body and isinstance(step.body.get("messages"), list)
    }
    assert 3 == max(sizes)
