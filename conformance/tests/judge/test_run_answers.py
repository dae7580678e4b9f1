"""Answers of a run are compared if their requests have the same prompt, or must have the same text."""

from __future__ import annotations

import html
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from conformance.exchange import Request
from conformance.judge.evidence.answer_text import AnswerText, Relation, relate
from conformance.judge.evidence.run_answers import PROMPTS, RunAnswers
from conformance.tests.test_exchange import plain
from openapi.contract.contract import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.exchange import Exchange

TALE = "Once upon a time there was a small town by the sea, and in it a lamp."
CONTRACT = load("vllm")


def answer(text: str, name: str = "one", reason: str = "length", prompt: str = "Hello", **sent: Any) -> Exchange:
    body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": 16, "temperature": 0, **sent}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
    request = Request("POST", "http://h/v1/chat/completions", (), json.dumps(body).encode())
    return replace(plain({"id": name, "choices": [choice]}, request=request), id=name)


def text_of(exchange: Exchange) -> AnswerText:
    text = AnswerText.of(exchange, 0, "", "")
    assert text is not None
    return text


def group(texts: Sequence[str], prompt: str) -> list[Exchange]:
    return [answer(text, f"{prompt}-{at}", prompt=prompt) for at, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (answer(TALE), Relation.SAME),
        (answer(TALE[:12], max_tokens=4), Relation.SAME),
        (answer(f"{TALE[:12]}\ufffd", max_tokens=4), Relation.SAME),
        (answer(TALE[:12]), Relation.PROVEN),
        (answer(TALE[:12], reason="stop"), Relation.JUMP),
        (answer(""), Relation.SILENT),
        (answer("", max_tokens=1), Relation.SAME),
        (answer(TALE[:30] + "!" + TALE[31:]), Relation.LATE),
        (answer("No. " + TALE), Relation.JUMP),
    ],
)
def test_a_text_relates_to_the_usual_one(other: Exchange, expected: Relation) -> None:
    assert expected is relate(text_of(answer(TALE)), text_of(other))


QUOTED = 'She said "yes", took the café & left.'


@pytest.mark.parametrize(
    "other",
    [
        html.escape(QUOTED),
        quote(QUOTED, safe=" "),
        json.dumps(QUOTED)[1:-1],
        QUOTED.encode().decode("latin-1"),
        html.escape(QUOTED)[:30],
    ],
)
def test_a_text_in_another_coding_is_no_near_tie(other: str) -> None:
    assert relate(text_of(answer(QUOTED)), text_of(answer(other))) is Relation.PROVEN


def test_a_text_that_goes_on_differently_after_an_escape_may_be_a_near_tie() -> None:
    assert relate(text_of(answer(QUOTED)), text_of(answer("She said &quot;no"))) is Relation.LATE


def test_a_spoilt_character_is_not_a_near_tie() -> None:
    usual, spoilt = text_of(answer("Le café est fermé.")), text_of(answer("Le caf\ufffd est fermé."))
    assert [Relation.PROVEN] * 2 == [relate(usual, spoilt), relate(spoilt, usual)]


def test_what_only_narrows_does_not_change_a_greedy_text() -> None:
    exchanges = [answer(TALE, "a"), answer(TALE, "b", top_p=0.5, seed=3, max_tokens=9, logprobs=True, stream=False)]
    other = answer(TALE, "c", frequency_penalty=1.5)
    answers = RunAnswers([*exchanges, other], CONTRACT)
    assert ["a", "b"] == [text.exchange.id for text in answers.with_text_of(exchanges[0])]
    assert () == answers.with_text_of(other)
    assert ["a", "b", "c"] == [exchange.id for exchange in answers.with_prompt_of(other)]


def test_near_ties_are_not_odd_however_many_there_are() -> None:
    texts = [TALE, TALE, TALE, *(TALE[:at] + "!" + TALE[at + 1 :] for at in range(0, 60, 3))]
    exchanges = [exchange for number in range(2 * PROMPTS) for exchange in group(texts, f"prompt {number}")]
    assert {} == RunAnswers(exchanges, CONTRACT).odd


@pytest.mark.parametrize("prompts", [1, PROMPTS - 1, PROMPTS])
def test_other_starts_are_odd_if_they_occur_for_many_prompts(prompts: int) -> None:
    same = [exchange for number in range(9) for exchange in group([TALE] * 3, f"prompt {number}")]
    odd = [answer("Never " + TALE, f"odd-{number}", prompt=f"prompt {number}") for number in range(prompts)]
    expected = {exchange.id for exchange in odd} if prompts == PROMPTS else set()
    assert expected == set(RunAnswers([*same, *odd], CONTRACT).odd)


def test_many_starts_of_one_text_are_odd() -> None:
    exchanges = [*group([TALE] * 3, "prompt"), *(answer(f"{word} {TALE}", word, prompt="prompt") for word in "abcd")]
    assert {"a", "b", "c", "d"} == set(RunAnswers(exchanges, CONTRACT).odd)


def test_answers_with_one_id_are_told_unless_the_client_names_its_requests() -> None:
    twins = [replace(answer(TALE, "same"), id=name) for name in "ab"]
    named = [replace(answer(TALE, "own", request_id="own"), id=name) for name in "cd"]
    assert {"a", "b"} == set(RunAnswers([*twins, *named], CONTRACT).repeated_ids)


def told(name: str, *numbers: float, stop: str | None = None) -> Exchange:
    entries = [{"token": f"t{at}", "logprob": number, "top_logprobs": []} for at, number in enumerate(numbers)]
    exchange = answer(TALE, name, logprobs=True, stop=stop)
    body = json.loads(exchange.body)
    body["choices"][0]["logprobs"] = {"content": entries}
    return replace(plain(body, request=exchange.request), id=name)


def test_numbers_are_odd_if_several_of_an_answer_differ_clearly() -> None:
    usual = [told("a", -1.0, -2.0, -0.1), told("b", -1.2, -2.1, -0.1, stop="x"), told("c", -1.1, -1.9, -0.2)]
    once, often = told("once", -3.0, -2.0, -0.1), told("often", -3.0, -4.0, -0.1)
    numbers = RunAnswers([*usual, once, often], CONTRACT).numbers
    assert {"a": 0, "b": 0, "c": 0, "once": 0, "often": 2} == {name: len(odd) for name, odd in numbers.items()}


USER, SAID = {"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi!"}
CALLED = {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f"}}]}


@pytest.mark.parametrize(
    ("later", "continues"),
    [
        ([SAID, USER], True),
        ([SAID], True),
        ([CALLED, {"role": "tool", "tool_call_id": "a", "content": "7"}], True),
        ([CALLED, {"role": "tool", "tool_call_id": "b", "content": "7"}], False),  # templates may leave it out
        ([{"role": "assistant", "content": "<think>No.</think>Hi!"}], False),
        ([{"role": "assistant", "content": ""}], False),
        ([], False),
    ],
)
def test_an_answer_is_continued_by_a_request_with_its_messages_and_more_text(later: list[Any], continues: bool) -> None:
    first = answer(TALE, "first", stream=True, logprobs=True)
    second = answer(TALE, "second", messages=[USER, *later])
    run = RunAnswers([first, answer(TALE, "other", prompt="Bye"), second], CONTRACT)
    assert (first if continues else None) is run.continued_by(second)
    assert None is run.continued_by(answer(TALE, "third", messages=[USER, *later], tools=[{}]))
    cut = [
        answer(TALE, f"{at}", messages=sent, truncate_prompt_tokens=2)
        for at, sent in enumerate(([USER], [USER, *later]))
    ]
    assert None is RunAnswers(cut, CONTRACT).continued_by(cut[1])
