"""Lists of objects at the limits of their size, for contracts that limit it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from conformance.plan.scenarios import boundaries
from conformance.plan.scenarios.list_sizes import list_sizes, make_conversation
from openapi.contract.contract import load, names
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from openapi.contract.contract import Contract

DIALECTS = sorted(set(names().values()))
LISTS = [(dialect, name) for dialect in DIALECTS for name in ("messages", "tools") if name in load(dialect).parameters]
SIZES = (1, 2, 3, 10, 64)


def limited(dialect: str, name: str, size: int) -> Contract:
    """Return a dialect in which a list may have at most `size` elements."""
    contract = load(dialect)
    parameter = contract.parameters[name]
    changed = replace(parameter, schema={**parameter.schema, "maxItems": size})
    return replace(contract, parameters={**contract.parameters, name: changed})


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("dialect", "name"), LISTS)
def test_a_limit_of_a_list_is_sent_and_exceeded_by_one_and_nothing_else_is_wrong(
    dialect: str, name: str, size: int
) -> None:
    contract = load(dialect)
    limits = limited(dialect, name, size)
    free, bound = Validator(contract), Validator(limits)
    lists = [row for row in list_sizes(limits.parameters[name]) if row[0] == "maxItems"]
    probes = [probe for probe in limits.parameters[name].probes if probe.expect == "accept"]
    shown = (
        [("accept", size)] if size in [len(probe.value) for probe in probes if isinstance(probe.value, list)] else []
    )
    assert {("accept", size), ("reject", size + 1)} == {*shown, *((expect, len(value)) for _, expect, value in lists)}
    for _, expect, value in lists:
        body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], name: value}
        assert () == free.request_problems(body)
        assert (expect == "reject") == bool(bound.request_problems(body))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_plan_tests_the_limit_of_a_conversation_as_strictly_as_its_source(dialect: str) -> None:
    scenarios = boundaries.generate(limited(dialect, "messages", 10))
    level = load(dialect).parameters["messages"].acceptance("type")
    found = {
        (subject.expect, len(subject.value), subject.keyword)
        for subject in (scenario.subject for scenario in scenarios)
        if subject is not None and "messages.maxItems" in subject.requirement
    }
    assert {("accept", 10, level), ("reject", 11, level)} == found


def test_a_list_that_may_not_fit_into_a_context_is_only_exceeded() -> None:
    lists = list_sizes(limited("openai", "tools", 128).parameters["tools"])
    assert [("maxItems", "reject", 129)] == [(key, expect, len(value)) for key, expect, value in lists]


def test_the_user_speaks_last_in_a_conversation_of_any_length() -> None:
    for size in range(1, 40):
        conversation = make_conversation(size)
        roles = [message["role"] for message in conversation]
        assert (size, "user") == (len(roles), roles[-1])
        assert [] == [pair for pair in pairwise(roles) if len(set(pair)) == 1]


def test_two_functions_of_a_list_never_have_one_name() -> None:
    lists = [value for _, _, value in list_sizes(limited("openai", "tools", 8).parameters["tools"])]
    for functions in lists:
        called = [tool["function"]["name"] for tool in functions]
        assert sorted(set(called)) == sorted(called)


def test_a_size_that_a_probe_shows_is_not_sent_again() -> None:
    parameter = load("openai").parameters["messages"]
    assert any(probe.value == [] for probe in parameter.probes)
    assert [] == [value for key, _, value in list_sizes(parameter) if key == "minItems" and value == []]
