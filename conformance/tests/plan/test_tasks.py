"""Tasks of every kind meet every parameter that must not change their answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.plan.scenarios.combinations import tasks
from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from openapi.contract.contract import load, names

DIALECTS = sorted(set(names().values()))


def _bodies(dialect: str) -> dict[str, dict[str, Any]]:
    return {step.name: dict(step.body or {}) for item in tasks.generate(load(dialect)) for step in item.steps}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_task_meets_every_parameter_without_effect(dialect: str) -> None:
    contract, sent = load(dialect), _bodies(dialect)
    allowed, known = find_allowed_bodies(contract), tasks.list_supported(contract)
    absent = []
    for task in tasks.TASKS:
        alone = tasks.write_alone(task, contract, allowed)
        more = [body for step, body in sent.items() if step.startswith(f"{task.name}{tasks.MORE}")]
        if alone is None:
            continue
        nulls = tasks.list_nulls(contract) if task.nulls else ()
        for values in (*tasks.WITHOUT_EFFECT, *(tasks.EMPTY if task.empty else ()), *nulls):
            added = tasks.list_usable(values, alone, known, allowed)
            if added and not any(added.items() <= body.items() for body in more):
                absent.append((task.name, values))
    assert [] == absent


@pytest.mark.parametrize("dialect", DIALECTS)
def test_requests_with_more_parameters_have_all_of_the_task(dialect: str) -> None:
    sent = _bodies(dialect)
    for name, body in sent.items():
        task = name.partition(tasks.ALONE)[0].partition(tasks.MORE)[0]
        alone = sent[f"{task}{tasks.ALONE}"]
        renamed = {tasks.LIMIT: body[tasks.NEWER_LIMIT]} if tasks.NEWER_LIMIT in body else {}
        assert alone == {key: {**renamed, **body}[key] for key in alone}


def test_null_stands_next_to_tools_for_every_parameter_that_each_server_accepts_as_null() -> None:
    nulls = {name for values in tasks.list_nulls(load("vllm")) for name in values}
    assert {"n", "seed", "stop", "parallel_tool_calls", "top_k"} <= nulls
    sent = {
        name
        for step, body in _bodies("vllm").items()
        for name in body
        if step.startswith("call") and body[name] is None
    }
    assert nulls == sent


@pytest.mark.parametrize("name", sorted(tasks.BY_DEFAULT))
def test_what_has_no_effect_by_default_is_sent_with_the_default_of_the_contract(name: str) -> None:
    contract = load("vllm")
    usual = contract.parameters[name].default
    other = not usual if isinstance(usual, bool) else ["another"]
    parameter = replace(contract.parameters[name], default=other)
    contract = replace(contract, parameters={**contract.parameters, name: parameter})
    assert [other] == [values[name] for values in tasks.list_others(contract) if name in values]


def test_a_contract_without_greedy_answers_has_a_reason_for_sending_no_task() -> None:
    contract = load("ovms-2024")
    temperature = contract.parameters["temperature"]
    warm = replace(temperature, schema={**temperature.schema, "minimum": 0.5})
    contract = replace(contract, parameters={**contract.parameters, "temperature": warm})
    assert ["scenario tasks: the contract allows no greedy task"] == [why for _, why in tasks.list_unfit(contract)]
