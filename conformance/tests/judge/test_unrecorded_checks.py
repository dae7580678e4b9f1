"""Test checks that no recorded run exercises, because the server lacks the feature, on recorded
answers changed to fit.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.check import Context, NotExercised
from conformance.judge.check_registry import gather_checks
from conformance.plan.capabilities import DeclaredCapabilities
from conformance.proof.editing.answers import edit_answer, edit_choice, edit_message
from conformance.proof.editing.streams import FIRST, LAST, edit_choices, edit_deltas
from conformance.proof.mutants import mutant
from conformance.run.drafting import draft
from openapi.contract.contract import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.check import Finding
    from conformance.exchange import Exchange
    from conformance.tests.conftest import Good

CHECKS, MUTANTS = gather_checks(), mutant.gather_mutants()
CALL = {"index": 0, "id": "call-1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}


@pytest.fixture
def plain(read_good: Callable[[str], Good]) -> Exchange:
    """Return a plain answer."""
    return read_good("mindie-2.3").exchanges["greedy", "plain"]


@pytest.fixture
def streamed(read_good: Callable[[str], Good]) -> Exchange:
    """Return a streamed answer."""
    return read_good("mindie-2.3").exchanges["greedy", "streamed"]


@pytest.fixture
def judge(read_good: Callable[[str], Good]) -> Callable[[str, Exchange], list[Finding]]:
    """Return a function that runs one check on one exchange."""
    good = read_good("mindie-2.3")
    scenario = good.plan.scenarios[0]
    context = Context(good.contract, good.validator, good.model, scenario, scenario.steps[0])
    return lambda identity, exchange: list(CHECKS[identity].judge(exchange, context))


def requesting(exchange: Exchange, **fields: Any) -> Exchange:
    """Return the exchange with more fields in its request."""
    body = json.dumps({**exchange.request_json, **fields}).encode()
    return replace(exchange, request=replace(exchange.request, body=body))


def with_choices(exchange: Exchange, number: int) -> Exchange:
    """Return the answer with its first choice repeated."""

    def repeat(answer: dict[str, Any]) -> None:
        answer["choices"] = [{**answer["choices"][0], "index": index} for index in range(number)]

    return edit_answer(exchange, repeat)


def calling(exchange: Exchange) -> Exchange:
    """Return the answer with a tool call and its finish reason."""
    if exchange.is_stream:
        called = edit_deltas(exchange, lambda delta: delta.update(tool_calls=[CALL]), FIRST)
        return edit_choices(called, lambda choice: choice.update(finish_reason="tool_calls"), LAST)
    called = edit_message(exchange, lambda message: message.update(tool_calls=[CALL]))
    return edit_choice(called, lambda choice: choice.update(finish_reason="tool_calls"))


def test_as_many_choices_as_asked(plain: Exchange, judge: Callable[[str, Exchange], list[Finding]]) -> None:
    identity = "answer.as-many-choices-as-asked"
    good = with_choices(requesting(plain, n=3), 3)
    assert judge(identity, good) == []
    assert [finding.got for finding in judge(identity, MUTANTS[identity].change(good))] == ["2 choices"]
    assert [finding.got for finding in judge(identity, with_choices(good, 4))] == ["4 choices"]


def test_logprobs_when_asked(plain: Exchange, judge: Callable[[str, Exchange], list[Finding]]) -> None:
    identity = "answer.logprobs-when-asked"
    good = edit_choice(requesting(plain, logprobs=True), lambda choice: choice.update(logprobs={"content": []}))
    assert judge(identity, good) == []
    assert [finding.got for finding in judge(identity, MUTANTS[identity].change(good))] == ["None"]
    left_out = edit_choice(good, lambda choice: choice.pop("logprobs"))
    assert [finding.where for finding in judge(identity, left_out)] == ["/choices/0/logprobs"]


@pytest.mark.parametrize("form", ["plain", "streamed"])
def test_none_calls_nothing(
    form: str, request: pytest.FixtureRequest, judge: Callable[[str, Exchange], list[Finding]]
) -> None:
    identity, good = "tools.none-calls-nothing", request.getfixturevalue(form)
    assert judge(identity, good) == []
    assert [finding.expected for finding in judge(identity, MUTANTS[identity].change(good))] == ["no call"]


@pytest.mark.parametrize("form", ["plain", "streamed"])
def test_tool_calls_when_called(
    form: str, request: pytest.FixtureRequest, judge: Callable[[str, Exchange], list[Finding]]
) -> None:
    identity, good = "finish.tool-calls-when-called", request.getfixturevalue(form)
    assert judge(identity, calling(good)) == []
    assert [finding.expected for finding in judge(identity, MUTANTS[identity].change(good))] == ["a tool call"]
    with pytest.raises(NotExercised):
        judge(identity, good)


def test_the_checks_apply_to_the_expected_scenarios() -> None:
    contract = load("mindie-2.3")
    plan = draft(contract, DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), "a test"))
    identities = ("answer.as-many-choices-as-asked", "answer.logprobs-when-asked", "tools.none-calls-nothing")
    judged = {identity: set[str]() for identity in identities}
    for assertion in plan.assertions:
        if assertion.check.id in judged:
            judged[assertion.check.id].add(assertion.scenario.id)
    assert judged == {
        "answer.as-many-choices-as-asked": {
            *("choices", "choices-best-of", "choices-of-beams", "defaults", "logprobs"),
            *("n-128-accepted", "n-needs-temperature-accepted", "n-with-default-temperature-accepted"),
        },
        "answer.logprobs-when-asked": {
            *("defaults", "logprobs", "same-request", "seeded"),
            *("logprobs-true-accepted", "top_logprobs-20-accepted", "top-logprobs-turns-on-logprobs-accepted"),
        },
        "tools.none-calls-nothing": {"defaults", "tool-choices", "tool_choice-none-accepted"},
    }
