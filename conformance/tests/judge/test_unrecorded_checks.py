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
from conformance.judge.token_counts import COUNTS
from conformance.plan.capabilities import DeclaredCapabilities
from conformance.proof.editing.answers import edit_answer, edit_choice, edit_message, edit_usage
from conformance.proof.editing.responses import with_body, with_header, with_status
from conformance.proof.editing.streams import FIRST, LAST, edit_choices, edit_deltas
from conformance.proof.mutants import mutant
from conformance.run.drafting import draft
from openapi.contract.contract import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.check import Finding
    from conformance.exchange import Exchange
    from conformance.scenario import Scenario
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
    expected = {
        "answer.as-many-choices-as-asked": {
            *("choices", "choices-best-of", "choices-of-beams", "defaults", "logprobs"),
            *("n-128-accepted", "n-needs-temperature-accepted", "n-with-default-temperature-accepted"),
        },
        "answer.logprobs-when-asked": {
            *("defaults", "effects-of-sampling", "logprobs", "same-request", "seeded"),
            *("logprobs-true-accepted", "top_logprobs-20-accepted", "top-logprobs-turns-on-logprobs-accepted"),
        },
        "tools.none-calls-nothing": {"defaults", "tool-choices", "tool_choice-none-accepted"},
    }
    assert [] == [identity for identity, scenarios in expected.items() if not scenarios <= judged[identity]]


def test_a_relation_of_counts_is_not_exercised_if_usage_counts_nothing(read_good: Callable[[str], Good]) -> None:
    good = read_good("mindie-2.3")
    names = {"usage.streamed-as-plain", "usage.prompt-grows", "usage.completion-grows", "usage.prompt-counted-once"}
    uncounted = good.changed(
        lambda exchange: (
            edit_usage(exchange, lambda usage: usage.update(dict.fromkeys(COUNTS, 0)))
            if exchange.usage is not None
            else exchange
        )
    )
    relations = [assertion for assertion in good.plan.assertions if assertion.check.id in names]
    judgements = good.judge(uncounted, relations)
    assert {judgement.assertion.check.id for judgement in judgements} == names
    assert not any(judgement.findings or judgement.applies for judgement in judgements)


def test_the_last_message_gives_its_role_to_an_answer_without_a_prompt_for_the_assistant(
    read_good: Callable[[str], Good], plain: Exchange
) -> None:
    good = read_good("vllm")
    scenario = good.plan.scenarios[0]
    context = Context(good.contract, good.validator, good.model, scenario, scenario.steps[0])
    as_user = edit_message(plain, lambda message: message.update(role="user"))

    def report(exchange: Exchange) -> list[Finding]:
        return list(CHECKS["answer.role-assistant"].judge(exchange, context))

    assert not report(requesting(as_user, add_generation_prompt=False))
    assert report(requesting(as_user, add_generation_prompt=True))
    assert report(as_user)
    as_tool = edit_message(plain, lambda message: message.update(role="tool"))
    assert report(requesting(as_tool, add_generation_prompt=False)), "the last message is the user's"


def test_a_request_is_read_as_it_was_sent(plain: Exchange, judge: Callable[[str, Exchange], list[Finding]]) -> None:
    marked = replace(plain, request=replace(plain.request, body=b"\xef\xbb\xbf" + plain.request.body))
    assert marked.request_json == plain.request_json
    assert not judge("answer.model-echoed", marked)
    other = edit_answer(marked, lambda answer: answer.update(model="another"))
    assert judge("answer.model-echoed", other)
    unreadable = replace(plain, request=replace(plain.request, body=b"{'model': 'm'}"))
    with pytest.raises(NotExercised):
        judge("answer.model-echoed", unreadable)


def test_the_answer_to_a_wrong_value_is_judged_by_its_own_requirement_alone() -> None:
    plan = draft(load("vllm"), DeclaredCapabilities(frozenset(), frozenset(), "nothing"))
    wrong = {scenario.id: scenario for scenario in plan.scenarios if _is_wrong(scenario)}
    assert "stream-text-refused" in wrong or any(name.startswith("stream-") for name in wrong)
    about_answers = ("answer", "finish", "usage", "stream", "sampling", "logprobs", "choices", "output")
    judged = {item.id for item in plan.assertions if item.scenario.id in wrong and item.check.topic in about_answers}
    assert not judged


@pytest.mark.parametrize("check", ["body-is-json-object", "envelope-fits", "json-content-type", "envelope-known"])
def test_no_document_states_the_body_of_a_415(
    check: str, read_good: Callable[[str], Good], judge: Callable[[str, Exchange], list[Finding]]
) -> None:
    refused = read_good("mindie-2.3").exchanges["goes-on-after-errors", "bad"]
    plain_text = with_body(with_header(refused, "content-type", None), b"")
    assert judge(f"errors.{check}", plain_text)
    encoded = replace(refused.request, headers=(("Content-Type", "text/plain"),))
    with pytest.raises(NotExercised, match="415"):
        judge(f"errors.{check}", replace(with_status(plain_text, 415), request=encoded))


def _is_wrong(scenario: Scenario) -> bool:
    return scenario.subject is not None and scenario.subject.expect == "reject"
