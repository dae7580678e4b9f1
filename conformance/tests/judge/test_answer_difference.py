"""A difference is clear only if rounding cannot explain it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from conformance.check import RepeatedAnswers
from conformance.exchange import Request
from conformance.judge.evidence.answer_difference import compare_answers, gap_at_divergence, is_near_tie
from conformance.judge.evidence.repetition import measure_repetition
from conformance.tests.test_exchange import plain

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def answer(text: str, *gaps: float, temperature: float = 0, reasoning: str = "") -> Exchange:
    """An answer of one-character tokens; each gap is the distance from a token to the next likeliest one, in nats."""
    content = [
        {"token": token, "logprob": -0.1, "top_logprobs": [alternative(token, -0.1), alternative("?", -0.1 - gap)]}
        for token, gap in zip(text, gaps, strict=False)
    ]
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "length"}
    if reasoning:
        choice["message"]["reasoning_content"] = reasoning
    if gaps:
        choice["logprobs"] = {"content": content}
    sent = json.dumps({"temperature": temperature, "messages": []}).encode()
    return plain({"choices": [choice]}, request=Request("POST", "http://h/v1", (), sent))


@pytest.mark.parametrize(
    ("stop", "counted", "expected"), [(None, 6, "clear"), (None, 5, "possible"), ("f", 6, "possible")]
)
def test_an_answer_that_lacks_its_end_is_another_one_if_as_many_tokens_are_counted(
    stop: str | None, counted: int, expected: str
) -> None:
    def counting(text: str, tokens: int) -> Exchange:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        sent = json.dumps({"temperature": 0, "messages": [], "stop": stop}).encode()
        body = {"choices": [choice], "usage": {"completion_tokens": tokens}}
        return plain(body, request=Request("POST", "http://h/v1", (), sent))

    assert expected == compare_answers(counting("abcdef", 6), counting("abcde", counted))


def alternative(token: str, logprob: float) -> dict[str, Any]:
    return {"token": token, "logprob": logprob}


@pytest.mark.parametrize(
    ("base", "other", "expected"),
    [
        (answer("abcdef"), answer("abcdef"), "none"),
        (answer("abcdef"), answer("abcdeg"), "possible"),
        (answer("abcdef"), answer("xbcdef"), "clear"),
        (answer("abcdef"), answer(""), "clear"),
        (answer("def", reasoning="abc"), answer("abcdef"), "clear"),
        (answer("ghi", reasoning="abcdef"), answer("\n\nghi", reasoning="abcdef\n"), "possible"),
        (answer("abcd", 3, 3, 3, 0.1), answer("abcx", 3, 3, 3, 3), "possible"),
        (answer("abcd", 3, 3, 3, 3), answer("abcx", 3, 3, 3, 3), "clear"),
        (answer("abcd", 0.1, 3, 3, 3), answer("xbcd", 3, 3, 3, 3), "possible"),
        (answer("abc?"), answer("abcd", 3, 3, 3, 0.1), "possible"),
        (answer("abc?"), answer("abcd", 3, 3, 3, 3), "clear"),
        (answer("abcd", 3, 3, 3, 3), answer("abc?"), "clear"),
        (answer("abcdef"), answer("abcd", 3, 3, 3, 3), "possible"),
        (answer("abcdef", temperature=1), answer("abcdeg", temperature=1), "possible"),
        (answer("abcdef", temperature=1), answer("xyz", temperature=1), "clear"),
    ],
)
def test_a_difference_is_clear_if_rounding_cannot_explain_it(base: Exchange, other: Exchange, expected: str) -> None:
    assert expected == compare_answers(base, other)


@pytest.mark.parametrize(("gap", "expected"), [(0.1, True), (3, False)])
def test_the_log_probabilities_of_either_answer_show_a_near_tie(gap: float, expected: bool) -> None:
    scored, alone = answer("abcd", 3, 3, 3, gap), answer("abc?")
    assert (expected, expected) == (is_near_tie(alone, scored), is_near_tie(scored, alone))
    assert not is_near_tie(alone, answer("abcd"))


def test_white_space_before_a_text_shows_no_other_token() -> None:
    assert gap_at_divergence(answer("abc"), answer(" abc", 3, 3, 3, 3)) is None


def test_repetition_counts_greedy_requests_that_were_sent_more_than_once() -> None:
    recorded = [answer("ab"), answer("ab"), answer("x", temperature=1), answer("y", temperature=1)]
    assert RepeatedAnswers(1, 1) == measure_repetition(recorded)
    assert RepeatedAnswers(1, 0) == measure_repetition([*recorded, answer("ac")])


@pytest.mark.parametrize(("requests", "same", "mostly"), [(3, 3, False), (10, 7, True), (10, 6, False)])
def test_most_requests_repeat_if_seven_of_ten_do(requests: int, same: int, mostly: bool) -> None:
    assert mostly is RepeatedAnswers(requests, same).mostly


def test_repetitions_that_diverge_at_near_ties_only_are_told_apart() -> None:
    first, tie, jump = answer("abcd", 3, 3, 3, 0.1), answer("abcx", 3, 3, 3, 3), answer("axcd", 3, 3, 3, 3)
    assert RepeatedAnswers(1, 0, ties=4) == measure_repetition([first, *[tie] * 4])
    assert measure_repetition([first, *[tie] * 4]).tied
    assert RepeatedAnswers(1, 0, ties=4, jumps=1) == measure_repetition([first, *[tie] * 4, jump])
    assert not measure_repetition([first, *[tie] * 4, jump]).tied
