"""Drawn scenarios: reproducible, cheap and classified correctly; and the judgements of schemathesis."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from conformance.errors import UsageError
from conformance.exchange import Exchange, Request, Response, Segment
from conformance.judge import schemathesis_oracle as oracle
from conformance.judge.evidence.liveness import CANARY
from conformance.judge.judgement import judge
from conformance.plan.capabilities import default_capabilities, narrow_to_declared
from conformance.plan.scenarios.schemathesis_cases import MANY, Draw, draw, require_fuzz_for_seed
from conformance.run.drafting import draft
from openapi.contract.contract import Keyword, load, names
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.scenario import Scenario
    from conformance.tests.conftest import CommandResult
    from openapi.contract.contract import Contract

DIALECTS = sorted(set(names().values()))
MOST = 120


@cache
def narrowed(dialect: str) -> Contract:
    """Return the contract of a server with the default capabilities."""
    contract = load(dialect)
    return narrow_to_declared(contract, default_capabilities(contract).declared)


@cache
def drawn(dialect: str, coverage: int = MOST, fuzz: int = 0, seed: int = 0) -> tuple[Scenario, ...]:
    """Return the scenarios that are drawn for a dialect."""
    return draw(narrowed(dialect), Draw(coverage, fuzz, seed))


def sent(scenarios: tuple[Scenario, ...]) -> list[bytes]:
    """Return the bodies as bytes."""
    return [scenario.steps[0].payload("m") for scenario in scenarios]


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_corpus_is_limited_and_every_case_is_classified_correctly(dialect: str) -> None:
    scenarios, validator = drawn(dialect), Validator(narrowed(dialect))
    assert len(scenarios) == MOST
    assert len({scenario.id for scenario in scenarios}) == MOST
    for scenario in scenarios:
        assert scenario.subject is not None
        refused = bool(validator.request_problems(json.loads(scenario.steps[0].payload("m"))))
        assert refused == (scenario.subject.expect == "reject"), scenario.id


def test_a_larger_corpus_extends_the_smaller_one_and_covers_more_parameters() -> None:
    small, large = drawn("mindie-2.3", 40), drawn("mindie-2.3", 80)
    assert sent(small) == sent(large)[:40]
    about = {scenario.subject.parameter for scenario in drawn("mindie-2.3", 400) if scenario.subject}
    assert {"temperature", "top_p", "seed", "messages", "stop"} <= about


def test_the_corpus_is_the_same_in_every_run() -> None:
    again = draw(narrowed("siliconstorm"), Draw(MOST))
    assert sent(again) == sent(drawn("siliconstorm"))


def test_fuzz_cases_depend_on_the_seed() -> None:
    one, same, other = (draw(narrowed("siliconstorm"), Draw(0, 12, seed)) for seed in (1, 1, 2))
    assert sent(one) == sent(same)
    assert sent(one) != sent(other)
    assert one[0].id == "fuzz-1-0001"
    assert len(set(sent(one))) == len(one) <= 12


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_valid_case_asks_for_few_tokens(dialect: str) -> None:
    for scenario in drawn(dialect):
        body = scenario.steps[0].body or {}
        asked = [body[name] for name in ("max_tokens", "max_completion_tokens") if type(body.get(name)) is int]
        if scenario.subject and scenario.subject.expect == "accept":
            assert asked, scenario.id
            assert all(number <= MANY for number in asked)


def test_no_expectation_is_more_binding_than_the_contract() -> None:
    contract = narrowed("openai")
    subjects = [scenario.subject for scenario in drawn("openai", 400)]
    levels = {subject.parameter: subject.keyword for subject in subjects if subject}
    assert set(levels.values()) > {Keyword.MUST}
    for subject in subjects:
        parameter = contract.parameters.get(subject.parameter) if subject else None
        if subject and parameter and subject.expect == "reject" and subject.keyword is Keyword.MUST:
            assert all(probe.keyword is Keyword.MUST for probe in parameter.probes if probe.expect == "reject")


def test_a_seed_requires_fuzz_cases() -> None:
    with pytest.raises(UsageError, match="--fuzz N"):
        require_fuzz_for_seed(0, 7)
    require_fuzz_for_seed(5, None)


ANSWER = {
    "id": "a", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}  # fmt: skip


def find_failures(status: int, body: Any, media: str = "application/json", *, valid: bool = True) -> dict[str, bool]:
    """Judge an answer to a valid or invalid case with schemathesis; return whether each check found something."""
    contract = narrowed("mindie-2.3")
    wanted = "accept" if valid else "reject"
    scenario = next(
        scenario for scenario in drawn("mindie-2.3")
        if scenario.subject and scenario.subject.expect == wanted and scenario.subject.parameter == "temperature"
    )  # fmt: skip
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = (("Content-Type", media),)
    response = Response(status, "", "HTTP/1.1", headers, (Segment(0.1, data),), 0.1, 0.2, complete=True)
    request = Request("POST", "http://h/v1/chat/completions", headers, scenario.steps[0].payload("m"))
    exchange = Exchange("x", scenario.id, "main", request, response, None, "2026-11-20T00:00:00+00:00")
    judgements = judge(
        oracle.assertions(contract, [scenario]),
        {(scenario.id, "main"): exchange},
        contract,
        Validator(contract),
        "m",
        {},
    )
    assert not [judgement.error for judgement in judgements if judgement.error]
    return {judgement.assertion.check.id: bool(judgement.findings) for judgement in judgements}


REFUSAL = {"error": "temperature: too hot", "error_type": "Input Validation Error"}


def test_a_correct_answer_and_a_correct_refusal_have_no_findings() -> None:
    assert set(find_failures(200, ANSWER).values()) == {False}
    assert set(find_failures(422, REFUSAL, valid=False).values()) == {False}


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
    assert find_failures(status, body, media, valid=valid)[identity]


def test_drawn_scenarios_are_also_judged_by_our_checks() -> None:
    contract = load("mindie-2.3")
    plan = draft(contract, default_capabilities(contract), wanted=Draw(60))
    drawn_ones = [assertion for assertion in plan.assertions if assertion.scenario.case is not None]
    assert {"answer", "drawn", "errors", "usage"} <= {assertion.check.topic for assertion in drawn_ones}
    assert len({assertion.id for assertion in plan.assertions}) == len(plan.assertions)


def test_without_the_option_nothing_is_drawn() -> None:
    assert draw(narrowed("mindie-2.3"), Draw()) == ()


def test_the_reference_server_passes_the_corpus(honest: str, chatproof: Callable[..., CommandResult]) -> None:
    result = chatproof(
        "check", honest, "--dialect", "mindie", "--coverage", "120", "--fuzz", "20", "--seed", "3", "--topic", "drawn"
    )
    assert result.code == 0, result.stdout
    assert result.results["run"]["draw"] == {"coverage": 120, "fuzz": 20, "seed": 3}
    scenarios = {exchange["id"].partition("/")[0] for exchange in result.results["exchanges"]}
    assert {name.partition("-")[0] for name in scenarios - {CANARY}} == {"coverage", "fuzz"}
    again = chatproof("judge", "results.json")
    assert again.code == 0
    assert "coverage-" not in again.stdout.partition("not judged because")[2]


def test_a_pattern_that_matches_nothing_is_refused_before_anything_is_sent(
    chatproof: Callable[..., CommandResult],
) -> None:
    result = chatproof("check", "http://127.0.0.1:9", "--dialect", "mindie", "--fuzz", "5", "--only", "nothing")
    assert (result.code, "matches no check" in result.stderr) == (2, True)
    assert replace(Draw(), fuzz=5) == Draw(0, 5)
