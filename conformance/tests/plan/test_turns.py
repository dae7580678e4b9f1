"""A question after other turns comes last, in the forms of its contract."""

from __future__ import annotations

import pytest

from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from conformance.plan.scenarios.written.turns import write_turns
from openapi.contract.contract import load, names

DIALECTS = sorted(set(names().values()))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_turns_are_allowed_and_end_with_the_question(dialect: str) -> None:
    contract = load(dialect)
    messages = write_turns("Why?", contract, calls="tools" in contract.parameters)
    assert {"role": "user", "content": "Why?"} == messages[-1]
    assert find_allowed_bodies(contract).allows({"messages": messages})


@pytest.mark.parametrize("calls", [False, True])
def test_a_call_and_its_result_are_among_the_turns_of_requests_with_tools_only(*, calls: bool) -> None:
    roles = [message["role"] for message in write_turns("Why?", load("openai"), calls=calls)]
    assert ["system", "user", "assistant"] == roles[:3]
    assert calls == ("tool" in roles)


def test_the_greeting_is_in_parts_only_if_the_contract_has_them() -> None:
    in_parts = {
        dialect
        for dialect in DIALECTS
        if isinstance(write_turns("Why?", load(dialect), calls=False)[1]["content"], list)
    }
    assert {"openai", "vllm"} <= in_parts
    assert "ovms-2024" not in in_parts
