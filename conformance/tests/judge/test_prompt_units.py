"""What prompt_tokens counts, and which refusals of a large message are about its size."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from conformance.check import Context, NotExercised, NotObserved
from conformance.exchange import Exchange, Request, Response, Segment
from conformance.judge.check_registry import gather_checks

if TYPE_CHECKING:
    from collections.abc import Callable

CHECKS = gather_checks()
TEXTS = {
    "notes": "\U0001f308 Write to Anna",
    "notes-other-email": "\U0001f308 Write to Anna, the daughter of the neighbour",
    "notes-other-key": "\U0001f308\U0001f308\U0001f308\U0001f308\U0001f308 Write to Anna, please do it soon",
    "notes-other-url": "Write to Anna about all of it, and about \U0001f308",
}
NOTHING = cast("Context", None)


def exchange_of(status: int, sent: Any, body: Any) -> Exchange:
    """Return an exchange with a plain response."""
    response = Response(status, "", "HTTP/1.1", (), (Segment(0.1, json.dumps(body).encode()),), 0.1, 0.1, complete=True)
    request = Request("POST", "u", (), json.dumps(sent).encode())
    return Exchange("e", "s", "main", request, response, None, "2026-11-22T00:00:00+00:00")


def answers(count: Callable[[str], int], token: str) -> dict[str, Exchange]:
    """Return answers whose prompt_tokens are counted in some way, with alternatives that begin with a token."""
    top = [{"token": name, "logprob": value} for name, value in ((token, -1.23456), ("b", -2.34567), ("c", -3.45678))]
    logprobs = {"content": [{**top[0], "top_logprobs": top}]}
    choice = {"index": 0, "message": {"role": "assistant", "content": token}, "logprobs": logprobs}
    return {
        name: exchange_of(
            200,
            {"messages": [{"role": "user", "content": text}]},
            {"choices": [choice], "usage": {"prompt_tokens": 9 + count(text), "completion_tokens": 1}},
        )
        for name, text in TEXTS.items()
    }


@pytest.mark.parametrize(
    ("count", "found"),
    [
        (len, ["each character counts as one"]),
        (lambda text: len(text.encode("utf-16-le")) // 2, ["each unit of UTF-16 counts as one"]),
        (lambda text: len(text.encode()), ["each byte counts as one"]),
        (lambda text: len(text.split()), []),
        (lambda text: len(text) // 3, []),
    ],
)
def test_prompts_that_count_their_characters_are_reported(count: Callable[[str], int], found: list[str]) -> None:
    findings = list(CHECKS["usage.prompt-in-tokens"].judge(answers(count, "dog"), NOTHING))
    assert found == [finding.got for finding in findings]


def test_a_model_that_reads_characters_may_count_them() -> None:
    with pytest.raises(NotExercised):
        list(CHECKS["usage.prompt-in-tokens"].judge(answers(len, "d"), NOTHING))


@pytest.mark.parametrize(
    ("status", "text", "is_reported"),
    [
        (200, "ok", False),
        (422, "too large", False),
        (413, "Request Entity Too Large", True),
        (413, "The prompt has 1060011 tokens", False),
        (500, "1060011 tokens", True),
    ],
)
def test_a_large_message_may_be_refused_only_for_what_the_model_can_read(
    status: int, text: str, *, is_reported: bool
) -> None:
    exchange = exchange_of(status, {}, {"error": text})
    assert is_reported == bool(list(CHECKS["http.large-messages-taken"].judge(exchange, NOTHING)))


def test_a_large_message_without_a_response_shows_nothing() -> None:
    exchange = replace(exchange_of(200, {}, {}), response=None)
    with pytest.raises(NotObserved):
        list(CHECKS["http.large-messages-taken"].judge(exchange, NOTHING))
