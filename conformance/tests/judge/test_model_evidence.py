"""What the answers show about the model: servers are not reported for what a model does."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.exchange import Exchange, Request, Response, Segment
from conformance.judge.evidence.model import generates_invalid_utf8, repeats_when_hot
from conformance.proof.editing.answers import edit_text

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
            edit_text(exchange, lambda text: f"\ufffd{text}") if exchange.succeeded and exchange.content() else exchange
        )

    assertions = [assertion for assertion in good.plan.assertions if assertion.check.id == identity][:20]
    everywhere = good.changed(garble)
    once = {key: exchange for key, exchange in everywhere.items() if key[0] == assertions[0].scenario.id}
    assert any(judgement.findings for judgement in good.judge(once, assertions))
    assert not any(judgement.findings for judgement in good.judge(everywhere, assertions))


def test_a_model_that_is_certain_repeats_its_greedy_answer_when_hot() -> None:
    assert repeats_when_hot(told(-0.00001, math.log(0.00001)))
    assert not repeats_when_hot(told(-0.0002, -12.0)), "the rest may be spread over the whole vocabulary"
    assert not repeats_when_hot(told(-0.1, -2.4))
    assert not repeats_when_hot(answer("a" * 24)), "nothing is known without log-probabilities"
    hostile = told(-0.1, 1e308)
    assert not repeats_when_hot(replace(hostile, id="hostile"))
