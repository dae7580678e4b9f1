"""Turns and functions of agents are sent together, and alone only if they are refused together."""

from __future__ import annotations

import json

import pytest

from conformance.plan.scenarios.combinations import tool_conversations
from conformance.plan.scenarios.combinations.tool_conversations import FUNCTIONS, HISTORY, MAIN, SHORTER
from openapi.contract.contract import load
from openapi.description.validation import Validator

DIALECTS = ["vllm", "openai", "mindie-2.3", "siliconstorm"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_turn_of_the_packed_history_is_sent_alone_if_that_is_refused(dialect: str) -> None:
    scenarios = tool_conversations.generate(load(dialect))
    (packed,) = (dict(item.steps[0].body or {}) for item in scenarios if item.id == HISTORY)
    alone = [dict(item.steps[0].body or {}) for item in scenarios if item.unless_answered == HISTORY]
    assert packed["messages"][:-1] == [message for body in alone for message in body["messages"][:-1]]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_shorter_history_differs_from_the_packed_one_in_one_message(dialect: str) -> None:
    (steps,) = (
        {step.name: dict(step.body or {})["messages"] for step in item.steps}
        for item in tool_conversations.generate(load(dialect))
        if item.id == HISTORY
    )
    whole = steps.pop(MAIN)
    assert 3 == len(steps)
    for name, messages in steps.items():
        assert name.startswith(SHORTER)
        ((longer, shorter),) = ((old, new) for old, new in zip(whole, messages, strict=True) if old != new)
        assert len(json.dumps(longer)) > len(json.dumps(shorter))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_contract_allows_every_request(dialect: str) -> None:
    validator = Validator(load(dialect))
    for scenario in tool_conversations.generate(load(dialect)):
        for step in scenario.steps:
            assert [] == list(validator.request_problems({"model": "m", **(step.body or {})}))


def test_one_request_offers_64_functions_whose_names_differ() -> None:
    (body,) = (item.steps[0].body for item in tool_conversations.generate(load("vllm")) if item.id == FUNCTIONS)
    names = [tool["function"]["name"] for tool in (body or {})["tools"]]
    assert [64, 64] == [len(names), len(set(names))]


def test_a_contract_without_tools_has_none_of_them() -> None:
    assert () == tool_conversations.generate(load("ovms-2024"))
