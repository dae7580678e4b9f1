"""Drawn scenarios: the same in every run, cheap, what they are taken for; and what schemathesis says of answers."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from conformance.errors import UsageError
from conformance.exchange import Exchange, Request, Response, Segment
from conformance.judge import schemathesis_oracle as oracle
from conformance.judge.judgement import judge
from conformance.plan.capabilities import default_capabilities, narrow_to_declared
from conformance.plan.scenarios.schemathesis_cases import MANY, Draw, draw, require_fuzz_for_seed
from conformance.run.drafting import draft
from openapi.contract.contract import Keyword, load, names
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.scenario import Scenario
    from conformance.tests.conftest import Said
    from openapi.contract.contract import Contract

DIALECTS = sorted(set(names().values()))
MOST = 120


@cache
def narrowed(dialect: str) -> Contract:
    """The contract of a server that has what the dialect assumes."""
    contract = load(dialect)
    return narrow_to_declared(contract, default_capabilities(contract).declared)


@cache
def drawn(dialect: str, coverage: int = MOST, fuzz: int = 0, seed: int = 0) -> tuple[Scenario, ...]:
    """What is drawn of it."""
    return draw(narrowed(dialect), Draw(coverage, fuzz, seed))


def sent(scenarios: tuple[Scenario, ...]) -> list[bytes]:
    """The bytes of the bodies."""
    return [scenario.steps[0].payload("m") for scenario in scenarios]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_corpus_is_bounded_and_every_case_is_what_it_is_taken_for(dialect: str) -> None:
    found, validator = drawn(dialect), Validator(narrowed(dialect))
    assert len(found) == MOST
    assert len({each.id for each in found}) == MOST
    for each in found:
        assert each.subject is not None
        refused = bool(validator.request_problems(json.loads(each.steps[0].payload("m"))))
        assert refused == (each.subject.expect == "reject"), each.id


def test_a_larger_corpus_begins_with_the_smaller_one_and_reaches_every_parameter_it_can() -> None:
    small, large = drawn("mindie-2.3", 40), drawn("mindie-2.3", 80)
    assert sent(small) == sent(large)[:40]
    about = {each.subject.parameter for each in drawn("mindie-2.3", 400) if each.subject}
    assert {"temperature", "top_p", "seed", "messages", "stop"} <= about


def test_the_corpus_is_the_same_in_every_run() -> None:
    again = draw(narrowed("siliconstorm"), Draw(MOST))
    assert sent(again) == sent(drawn("siliconstorm"))


def test_fuzzing_follows_from_its_seed() -> None:
    one, same, other = (draw(narrowed("siliconstorm"), Draw(0, 12, seed)) for seed in (1, 1, 2))
    assert sent(one) == sent(same)
    assert sent(one) != sent(other)
    assert one[0].id == "fuzz-1-0001"
    assert len(set(sent(one))) == len(one) <= 12


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_valid_case_asks_for_few_tokens(dialect: str) -> None:
    for each in drawn(dialect):
        body = each.steps[0].body or {}
        asked = [body[name] for name in ("max_tokens", "max_completion_tokens") if type(body.get(name)) is int]
        if each.subject and each.subject.expect == "accept":
            assert asked, each.id
        assert all(number <= MANY for number in asked if each.subject and each.subject.expect == "accept")


def test_nothing_is_bound_harder_than_the_contract_reads_it() -> None:
    contract = narrowed("openai")
    levels = {each.subject.parameter: each.subject.keyword for each in drawn("openai", 400) if each.subject}
    assert set(levels.values()) > {Keyword.MUST}
    for each in drawn("openai", 400):
        subject = each.subject
        parameter = contract.parameters.get(subject.parameter) if subject else None
        if subject and parameter and subject.expect == "reject" and subject.keyword is Keyword.MUST:
            assert all(probe.keyword is Keyword.MUST for probe in parameter.probes if probe.expect == "reject")


def test_a_seed_without_anything_to_draw_is_refused() -> None:
    with pytest.raises(UsageError, match="--fuzz N"):
        require_fuzz_for_seed(0, 7)
    require_fuzz_for_seed(5, None)


ANSWER = {
    "id": "a", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}  # fmt: skip


def words(status: int, body: Any, media: str = "application/json", *, valid: bool = True) -> dict[str, bool]:
    """What schemathesis says of such an answer to a valid or an invalid case: check -> whether it found something."""
    contract = narrowed("mindie-2.3")
    wanted = "accept" if valid else "reject"
    scenario = next(
        each for each in drawn("mindie-2.3")
        if each.subject and each.subject.expect == wanted and each.subject.parameter == "temperature"
    )  # fmt: skip
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = (("Content-Type", media),)
    response = Response(status, "", "HTTP/1.1", headers, (Segment(0.1, data),), 0.1, 0.2, complete=True)
    request = Request("POST", "http://h/v1/chat/completions", headers, scenario.steps[0].payload("m"))
    exchange = Exchange("x", scenario.id, "main", request, response, None, "2026-11-20T00:00:00+00:00")
    found = judge(
        oracle.assertions(contract, [scenario]),
        {(scenario.id, "main"): exchange},
        contract,
        Validator(contract),
        "m",
        {},
    )
    assert not [each.error for each in found if each.error]
    return {each.assertion.check.id: bool(each.findings) for each in found}


REFUSAL = {"error": "temperature: too hot", "error_type": "Input Validation Error"}


def test_a_good_answer_and_a_good_refusal_are_not_blamed() -> None:
    assert set(words(200, ANSWER).values()) == {False}
    assert set(words(422, REFUSAL, valid=False).values()) == {False}


MUTANTS: dict[str, tuple[int, Any, str, bool]] = {
    "drawn.no-server-error": (500, REFUSAL, "application/json", True),
    "drawn.status-documented": (418, REFUSAL, "application/json", False),
    "drawn.content-type-documented": (200, ANSWER, "text/html", True),
    "drawn.body-fits-description": (200, {**ANSWER, "choices": "none"}, "application/json", True),
    "drawn.invalid-refused": (200, ANSWER, "application/json", False),
    "drawn.valid-accepted": (422, REFUSAL, "application/json", True),
}


@pytest.mark.parametrize("identity", oracle.ORACLES)
def test_every_check_of_the_oracle_can_fail(identity: str) -> None:
    status, body, media, valid = MUTANTS[identity]
    assert words(status, body, media, valid=valid)[identity]


def test_drawn_scenarios_are_judged_by_our_checks_too() -> None:
    contract = load("mindie-2.3")
    plan = draft(contract, default_capabilities(contract), wanted=Draw(60))
    mine = [assertion for assertion in plan.assertions if assertion.scenario.case is not None]
    assert {"answer", "drawn", "errors", "usage"} <= {each.check.topic for each in mine}
    assert len({assertion.id for assertion in plan.assertions}) == len(plan.assertions)


def test_without_the_option_nothing_is_drawn() -> None:
    assert draw(narrowed("mindie-2.3"), Draw()) == ()


def test_the_reference_server_stands_the_corpus(honest: str, chatproof: Callable[..., Said]) -> None:
    said = chatproof(
        "check", honest, "--dialect", "mindie", "--coverage", "120", "--fuzz", "20", "--seed", "3", "--topic", "drawn"
    )
    assert said.code == 0, said.stdout
    assert said.results["run"]["draw"] == {"coverage": 120, "fuzz": 20, "seed": 3}
    assert {exchange["id"].partition("-")[0] for exchange in said.results["exchanges"]} == {"coverage", "fuzz"}
    again = chatproof("judge", "results.json")
    assert again.code == 0
    assert "coverage-" not in again.stdout.partition("not judged because")[2]


def test_an_idle_pattern_is_known_before_anything_is_sent(chatproof: Callable[..., Said]) -> None:
    said = chatproof("check", "http://127.0.0.1:9", "--dialect", "mindie", "--fuzz", "5", "--only", "nothing")
    assert (said.code, "matches no check" in said.stderr) == (2, True)
    assert replace(Draw(), fuzz=5) == Draw(0, 5)
