"""What the answers show about the model: servers are not reported for what a model does."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.exchange import Exchange, Request, Response, Segment
from conformance.judge.evidence.model import generates_invalid_utf8, repeats_when_hot
from conformance.proof.editing.answers import edit_choice, edit_text, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import Good

WELL_ENCODED = ("answer.text-well-encoded", "stream.text-well-encoded")


def answer(content: str, logprobs: Any = None, prompt: str = "Hello!") -> Exchange:
    """Return a plain answer."""
    sent = json.dumps({"messages": [{"role": "user", "content": prompt}]}, ensure_ascii=False).encode()
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "logprobs": logprobs}
    body = json.dumps({"choices": [choice]}, ensure_ascii=False).encode()
    response = Response(200, "", "HTTP/1.1", (), (Segment(0.1, body),), 0.1, 0.1, complete=True)
    return Exchange("e", "s", "main", Request("POST", "u", (), sent), response, None, "2026-11-22T00:00:00+00:00")


def told(likeliest: float, second: float) -> Exchange:
    """Return an answer of 24 tokens with these log-probabilities of the two likeliest tokens."""
    top = [{"token": "a", "logprob": likeliest}, {"token": "b", "logprob": second}]
    return answer("a" * 24, {"content": [{**top[0], "top_logprobs": top}] * 24})


def test_a_model_garbles_if_its_answers_to_ascii_prompts_contain_replacement_characters() -> None:
    garbled, whole = answer("a\ufffdb"), answer("ab")
    assert generates_invalid_utf8([garbled, *[whole] * 4])
    assert not generates_invalid_utf8([garbled, *[whole] * 5])
    assert not generates_invalid_utf8([garbled] * 4), "too few answers"
    assert not generates_invalid_utf8([answer("a\ufffdb", prompt="你好"), *[whole] * 4]), "a server may cut characters"


@pytest.mark.parametrize("identity", WELL_ENCODED)
def test_a_server_is_not_reported_for_a_model_that_garbles(read_good: Callable[[str], Good], identity: str) -> None:
    good = read_good("mindie-2.3")

    def garble(exchange: Exchange) -> Exchange:
        return (
            say(exchange, f"\ufffd{exchange.content()}{exchange.step}")
            if exchange.succeeded and exchange.content()
            else exchange
        )

    assertions = [assertion for assertion in good.plan.assertions if assertion.check.id == identity][:20]
    everywhere = good.changed(garble)
    once = {key: exchange for key, exchange in everywhere.items() if key[0] == assertions[0].scenario.id}
    assert any(judgement.findings for judgement in good.judge(once, assertions))
    assert not any(judgement.findings for judgement in good.judge(everywhere, assertions))


@pytest.mark.parametrize(
    ("text", "others", "is_reported"),
    [
        ("a silver \ufffd fish", (), False),
        ("a silver \ufffd fish", ("an old \ufffd boat",), True),
        ("a silver \ufffd fish", ("a silver \ufffd fish, and more",), False),
        ("a silver fish \ufffd", (), True),
        ("a \ufffd silver \ufffd fish", (), True),
    ],
)
def test_one_replacement_character_within_one_text_of_a_run_may_be_that_of_the_model(
    read_good: Callable[[str], Good], text: str, others: tuple[str, ...], *, is_reported: bool
) -> None:
    good = read_good("mindie-2.3")
    plain = good.of(WELL_ENCODED[0])
    keys = [(item.scenario.id, item.step.name) for item in plain]
    changed = {key: say(good.exchanges[key], new) for key, new in zip(keys, (text, *others), strict=False)}
    first = [item for item in plain if (item.scenario.id, item.step.name) == keys[0]]
    assert is_reported == any(judgement.findings for judgement in good.judge(changed, first))


def test_a_model_that_is_certain_repeats_its_greedy_answer_when_hot() -> None:
    assert repeats_when_hot(told(-0.00001, math.log(0.00001)))
    assert not repeats_when_hot(told(-0.0002, -12.0)), "the rest may be spread over the whole vocabulary"
    assert not repeats_when_hot(told(-0.1, -2.4))
    assert not repeats_when_hot(answer("a" * 24)), "nothing is known without log-probabilities"
    hostile = told(-0.1, 1e308)
    assert not repeats_when_hot(replace(hostile, id="hostile"))


@pytest.mark.parametrize(("alone", "is_reported"), [("Once upon a time", False), ("There was a fox", True)])
def test_equal_draws_are_not_reported_if_the_same_answer_also_comes_alone(
    read_good: Callable[[str], Good], alone: str, *, is_reported: bool
) -> None:
    good = read_good("mindie-2.3")
    texts = {"equal-1": alone, "equal-2": "I know a story"}

    def answered(exchange: Exchange, text: str) -> Exchange:
        return edit_text(exchange, lambda _: text)

    changed = {
        (scenario, step): answered(exchange, texts.get(step, "Once upon a time"))
        for (scenario, step), exchange in good.exchanges.items()
        if scenario == "parallel-equal"
    }
    judgements = good.judge(changed, good.of("parallel.equal-requests-drawn-apart"))
    assert is_reported == any(judgement.findings for judgement in judgements)


def where_found(good: Good, identity: str, edit: Callable[[dict[str, Any]], None]) -> list[str]:
    """Return the places of a check's findings if the first choice of every plain answer of its scenario is edited."""
    assertions = good.of(identity)
    scenario = assertions[0].scenario.id
    changed = {key: edit_choice(exchange, edit) for key, exchange in good.exchanges.items() if key[0] == scenario}
    return [finding.where for judgement in good.judge(changed, assertions) for finding in judgement.findings]


@pytest.mark.parametrize("identity", ["prompt.every-word-read", "prompt.every-character-read"])
@pytest.mark.parametrize(
    ("logprobs", "is_judged"),
    [
        pytest.param((-0.3318, -1.7312445, -2.2017713, -2.9004556), True, id="float32"),
        pytest.param((-0.4375, -1.125, -5.4375, -8.0625), False, id="bfloat16"),
        pytest.param((-0.438, -1.125, -5.437, -8.062), False, id="three decimals"),
    ],
)
def test_the_same_log_probabilities_show_that_a_word_is_not_read_only_if_they_are_precise(
    read_good: Callable[[str], Good], identity: str, logprobs: tuple[float, ...], *, is_judged: bool
) -> None:
    def round_all(choice: dict[str, Any]) -> None:
        for entry in choice["logprobs"]["content"]:
            pairs = zip("abcd", logprobs, strict=True)
            entry["top_logprobs"] = [{"token": token, "logprob": value, "bytes": None} for token, value in pairs]

    assert is_judged == bool(where_found(read_good("mindie-2.3"), identity, round_all))


@pytest.mark.parametrize("are_chosen", [True, False])
def test_top_p_is_judged_by_the_tokens_of_the_text_and_by_no_others(
    read_good: Callable[[str], Good], *, are_chosen: bool
) -> None:
    def make_unlikely(choice: dict[str, Any]) -> None:
        for entry in choice["logprobs"]["content"]:
            entry["logprob"] = min(other["logprob"] for other in entry["top_logprobs"]) - 3.0
            if not are_chosen:
                entry |= {"token": "x", "bytes": None}

    assert are_chosen == bool(where_found(read_good("mindie-2.3"), "effects.top-p-kept", make_unlikely))
