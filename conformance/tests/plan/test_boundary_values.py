"""Tests of the values that follow from a schema, and of the requests that send several of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from conformance.plan.scenarios import boundaries
from conformance.plan.scenarios.boundary_values import list_small_values, list_valid_ends, list_values
from conformance.plan.scenarios.combinations import values_together
from openapi.contract.contract import Keyword, load, names
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from pathlib import Path

PAGE = """\
id: both
title: A dialect whose own page states that both forms of tool calling may be null
document: none
extends: openai
replace:
"""
NULL_VALUE = """\
  parameters/{name}/source: "#request/{name}"
  parameters/{name}/null_value: {{expect: accept, level: MUST}}
"""
NULLABLE = ("function_call", "tool_choice", "temperature", "seed", "top_p", "stop", "user", "presence_penalty")


def accepted(schema: dict[str, Any]) -> list[Any]:
    return [value for _, expect, value in list_values(schema) if expect == "accept"]


def test_a_range_that_begins_at_zero_has_values_just_above_it() -> None:
    schema = {"type": "number", "minimum": 0.0, "maximum": 2.0}
    assert accepted(schema) == [0.0, 2.0, 1e-4, 1e-9, 1.99, 1]


def test_zero_is_a_value_among_negative_integers() -> None:
    assert accepted({"type": "integer", "minimum": -1, "maximum": 20}) == [-1, 20, 0]
    assert accepted({"type": "integer", "minimum": 1, "maximum": 20}) == [1, 20]


def test_integers_that_doubles_change_are_sent_if_they_are_in_range() -> None:
    wide = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}
    assert accepted(wide) == [0, 2**63 - 1, 2**53 + 1, 10**18]
    assert accepted({**wide, "maximum": 2**53}) == [0, 2**53]


def test_a_server_that_may_refuse_the_end_of_a_range_may_refuse_what_comes_before_it() -> None:
    contract = load("vllm")
    keywords = {
        (subject.parameter, subject.value): subject.keyword
        for scenario in boundaries.generate(contract)
        if (subject := scenario.subject) is not None and type(subject.value) is int and subject.expect == "accept"
    }
    assert {Keyword.MAY} == {keywords["truncate_prompt_tokens", value] for value in (2**53 + 1, 10**18, 2**63 - 1)}
    assert {Keyword.MUST} == {keywords["priority", value] for value in (2**53 + 1, 10**18, 2**63 - 1)}
    seeds = load("mindie-2.3").parameters["seed"]  # must be accepted up to 2**63 - 1, and should be to 2**64 - 1
    assert Keyword.MUST is boundaries.acceptance_of(seeds, "maximum", 10**18)


def test_whole_numbers_are_negative_where_the_range_is() -> None:
    assert -1 in accepted({"type": "number", "minimum": -2.0, "maximum": 2.0})
    assert 1 in accepted({"type": "number", "exclusiveMinimum": 0.0, "maximum": 1.0})


def test_small_values_and_ends_are_inside_the_range() -> None:
    assert list_small_values({"type": "number", "exclusiveMinimum": 0, "maximum": 1e-5}) == (1e-9,)
    assert list_small_values({"type": "number", "minimum": -2.0}) == ()
    assert list_valid_ends({"type": "number", "minimum": 0.0, "maximum": 1.0}) == [0.0, 1.0, 0.99]


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", names())
def test_requests_with_several_values_are_valid_and_send_only_values_that_must_be_accepted(dialect: str) -> None:
    contract = load(dialect)
    validator = Validator(contract)
    alone = {
        (scenario.subject.parameter, repr(scenario.subject.value))
        for scenario in boundaries.generate(contract)
        if scenario.subject is not None and scenario.subject.expect == "accept"
    }
    for scenario in values_together.generate(boundaries.generate(contract), contract):
        assert scenario.subject is not None
        assert {(name, repr(value)) for name, value in scenario.subject.value.items()} <= alone
        assert validator.request_problems({"model": "m", **(scenario.steps[0].body or {})}) == ()


@pytest.mark.parametrize("gone", [(), ("beam_search", "include_stop_str_in_output", "media", "stop", "thinking")])
def test_values_are_not_sent_together_where_a_rule_in_words_leaves_the_answer_open(gone: tuple[str, ...]) -> None:
    contract = load("mindie-2.3").without(gone)
    for scenario in values_together.generate(boundaries.generate(contract), contract):
        body = scenario.steps[0].body or {}
        assert body.get("logprobs") is not False or body.get("top_logprobs") is None


def test_functions_and_tools_are_not_sent_together_because_the_page_leaves_the_answer_open(tmp_path: Path) -> None:
    path = tmp_path / "both.yaml"
    path.write_text(PAGE + "".join(NULL_VALUE.format(name=name) for name in NULLABLE), encoding="utf-8")
    contract = load(str(path))
    packs = values_together.generate(boundaries.generate(contract), contract)
    bodies = [scenario.steps[0].body or {} for scenario in packs]
    assert any(body.get("functions") or body.get("tools") for body in bodies)
    assert [] == [body for body in bodies if body.get("functions") and body.get("tools")]
