"""A requirement is a consequence only if all of its findings are explained by others."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

from conformance.judge.causes import find_causes
from conformance.proof.editing.answers import edit_answer, edit_either, edit_usage
from conformance.proof.editing.responses import refuse, with_body, with_header, with_status
from conformance.proof.editing.streams import edit_choices, edit_chunks, edit_frames
from conformance.proof.mutants.mutant import gather_mutants
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange
    from conformance.judge.causes import Causes
    from conformance.judge.judgement import Judgement
    from conformance.tests.conftest import Good

SCENARIOS = ("greedy", "choices", "cut-at-1", "stop-text", "cuts", "malformed-truncated")
INDICES = "answer.indices-from-zero"
CREATED = {"answer.created-now", "answer.created-in-seconds"}


@pytest.fixture
def mindie(read_good: Callable[[str], Good]) -> Good:
    """The recorded run of one dialect: causes are found in the same way in every dialect."""
    return read_good("mindie-2.3")


def judge(good: Good, change: Callable[[Exchange], Exchange]) -> tuple[dict[str, list[Judgement]], Causes]:
    """Return the failing judgements of a few scenarios on changed exchanges, by requirement, and their causes."""
    changed = {key: change(exchange) for key, exchange in good.exchanges.items() if key[0] in SCENARIOS}
    assertions = [assertion for name in SCENARIOS for assertion in good.assertions_by_scenario.get(name, ())]
    return causes_of(good, good.judge(changed, assertions), changed)


def causes_of(
    good: Good, judgements: tuple[Judgement, ...], changed: dict[tuple[str, str], Exchange]
) -> tuple[dict[str, list[Judgement]], Causes]:
    """Return the failing judgements by requirement, and their causes."""
    failing: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        requirement = judgement.assertion.requirement
        if judgement.findings and requirement.keyword is not Keyword.MAY:
            failing.setdefault(requirement.id, []).append(judgement)
    recorded = {**good.exchanges, **changed}
    return failing, find_causes(judgements, recorded, good.contract, good.validator, good.model)


def count_from_1(exchange: Exchange) -> Exchange:
    """Count the choices of an answer from 1."""

    def edit(holder: dict[str, Any]) -> None:
        for choice in holder.get("choices", ()):
            choice["index"] += 1

    return edit_either(exchange, edit) if exchange.succeeded else exchange


def in_milliseconds(exchange: Exchange) -> Exchange:
    """State `created` in milliseconds, in plain answers only."""
    if exchange.is_stream or not exchange.succeeded:
        return exchange
    return edit_answer(exchange, lambda answer: answer.update(created=answer["created"] * 1000))


def break_event(exchange: Exchange, at: int) -> Exchange:
    """Replace an event by one that is not JSON."""
    broken = b"data: {\n\n"
    return edit_frames(
        exchange,
        lambda frames: [replace(frame, raw=broken) if number == at else frame for number, frame in enumerate(frames)],
    )


def test_choices_that_are_counted_from_1_are_one_cause(mindie: Good) -> None:
    failing, causes = judge(mindie, count_from_1)
    assert len(failing) > 1
    assert {name for name in failing if name not in causes} == {INDICES}
    assert all(name == (INDICES,) for name in causes.values())


def test_no_finding_shows_a_value_that_was_not_sent(mindie: Good) -> None:
    failing, _ = judge(mindie, count_from_1)
    got = {finding.got for judgements in failing.values() for item in judgements for finding in item.findings}
    assert not got & {"None", "none", "''"}


def test_an_independent_failure_on_the_same_answers_is_a_cause_of_its_own(mindie: Good) -> None:
    failing, causes = judge(mindie, lambda exchange: in_milliseconds(count_from_1(exchange)))
    assert {name for name in failing if name not in causes} - {INDICES} <= CREATED
    assert INDICES not in causes
    assert CREATED & failing.keys() - causes.keys()


def test_a_wrong_field_beside_an_invalid_event_is_a_cause_of_its_own(mindie: Good) -> None:
    """The first chunk is read on its own, so an event that is not JSON explains nothing about it."""

    def change(exchange: Exchange) -> Exchange:
        if not exchange.is_stream or not exchange.succeeded or len(exchange.walk.chunks) < 4:
            return exchange
        return break_event(edit_chunks(exchange, lambda chunk: chunk.update(object="chunk"), slice(0, 1)), 2)

    failing, causes = judge(mindie, change)
    roots = {name for name in failing if name not in causes}
    assert "stream.events-are-json" in roots
    assert "stream.text-as-plain" not in roots
    assert roots & {"stream.object-named", "stream.chunks-fit-schema"}


def test_what_an_error_leaves_unobserved_is_a_consequence_of_it(mindie: Good) -> None:
    def change(exchange: Exchange) -> Exchange:
        if not exchange.is_stream:
            return exchange
        return with_body(with_status(with_header(exchange, "content-type", "text/plain"), 500), b"the model failed")

    failing, causes = judge(mindie, change)
    (root,) = (name for name in failing if name not in causes)
    assert root in ("answer.accepted", "stream.accepted")
    assert causes["stream.done-last"] == (root,)  # could not be tested


def test_refusals_of_another_form_are_one_cause(mindie: Good) -> None:
    page = b"<html><body>Bad Request</body></html>"
    failing, causes = judge(
        mindie,
        lambda exchange: (
            with_header(with_body(exchange, page), "content-type", "text/html")
            if (exchange.status or 0) >= 400
            else exchange
        ),
    )
    assert len(failing) > 1
    assert {name for name in failing if name not in causes} == {"errors.body-is-json-object"}


@pytest.mark.parametrize("everywhere", [True, False])
def test_a_requirement_with_one_unexplained_finding_is_a_cause(mindie: Good, *, everywhere: bool) -> None:
    """An event that is not JSON explains a missing finish_reason, but only in its own stream."""

    def change(exchange: Exchange) -> Exchange:
        if not exchange.is_stream or not exchange.succeeded:
            return exchange
        exchange = edit_choices(exchange, lambda choice: choice.update(finish_reason=None))
        return break_event(exchange, 1) if everywhere or exchange.scenario == "greedy" else exchange

    _, causes = judge(mindie, change)
    assert ("stream.one-finish-per-choice" in causes) is everywhere


def test_half_of_all_mutants_have_one_cause(mindie: Good) -> None:
    """Also if all other checks of the same scenario judge the mutant."""
    numbers = []
    for identity, mutant in sorted(gather_mutants().items())[::6]:
        for assertion in mindie.of(identity, mutant.scenario)[:1]:
            changed = mindie.broken(mutant, assertion)
            judgements = mindie.judge(changed, mindie.assertions_by_scenario[assertion.scenario.id])
            failing, causes = causes_of(mindie, judgements, changed)
            if failing:
                numbers.append(len(failing) - sum(name in causes for name in failing))
    assert len(numbers) > 20
    assert median(numbers) == 1


def refuse_with(good: Good, parameters: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the causes if the server refuses every valid request that has one of the parameters."""

    def refuse_parameter(exchange: Exchange) -> Exchange:
        fields = exchange.request_json
        has_one = isinstance(fields, dict) and not fields.keys().isdisjoint(parameters)
        return refuse(exchange) if has_one and exchange.succeeded else exchange

    changed = good.changed(refuse_parameter)
    return dict(causes_of(good, good.judge(changed), changed)[1])


def test_the_requirement_of_a_refused_parameter_is_the_cause_of_refused_requests(mindie: Good) -> None:
    (cause, *_) = refuse_with(mindie, ("seed",))["answer.accepted"]
    assert cause.startswith("parameters.seed.")


def test_no_parameter_is_the_cause_if_several_are_refused(mindie: Good) -> None:
    causes = refuse_with(mindie, ("seed", "top_k"))
    assert "answer.accepted" not in causes
    assert {causes[name][0] for name in ("parameters.seed.value-inside", "parameters.top_k.minimum-inside")} == {
        "answer.accepted"
    }


def test_a_should_is_not_the_cause_of_a_must_with_the_same_error(mindie: Good) -> None:
    keywords = {name: row.keyword for name, row in mindie.contract.requirements.items()}
    causes = refuse_with(mindie, ("tools",))
    weaker = {
        name: names[0]
        for name, names in causes.items()
        if keywords.get(name) is Keyword.MUST and keywords.get(names[0]) is Keyword.SHOULD
    }
    assert {} == weaker


def test_an_error_of_another_request_does_not_explain_a_finding(mindie: Good) -> None:
    changed = {
        key: refuse(exchange) if key[1].startswith("in-parts") else with_tokens(exchange)
        for key, exchange in mindie.exchanges.items()
        if key[0] == "parts-of-a-prompt"
    }
    judgements = mindie.judge(changed, mindie.assertions_by_scenario["parts-of-a-prompt"])
    failing, causes = causes_of(mindie, judgements, changed)
    assert {"answer.accepted", "prompt.every-part-read"} <= failing.keys()
    assert "answer.accepted" not in causes.get("prompt.every-part-read", ())


def with_tokens(exchange: Exchange) -> Exchange:
    """Count the same prompt tokens in each answer."""
    return edit_usage(exchange, lambda usage: usage.update(prompt_tokens=7))
