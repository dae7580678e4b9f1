"""What shows that a server changed a prompt before the model read it, and what does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import pytest

from conformance.check import Context, NotExercised
from conformance.exchange import Exchange, Request, Response, Segment
from conformance.judge.check_registry import gather_checks
from openapi.contract.contract import load

if TYPE_CHECKING:
    from collections.abc import Mapping

CHECKS = gather_checks()
NONE = cast("Any", None)


def exchange_of(content: str, prompt_tokens: int, **sent: Any) -> Exchange:
    """Return an answer, which is a stream if the request asks for one."""
    head = {"id": "a", "created": 1, "model": "m", "object": "chat.completion"}
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    data = json.dumps({**head, "choices": [choice], "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 1}})
    kind = "application/json"
    if sent.get("stream"):
        piece = {"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        data, kind = f"data: {json.dumps({**head, 'choices': [piece]})}\n\ndata: [DONE]\n\n", "text/event-stream"
    segments = (Segment(0.1, data.encode()),)
    response = Response(200, "", "HTTP/1.1", (("content-type", kind),), segments, 0.1, 0.1, complete=True)
    body = {"messages": [{"role": "user", "content": "Hello!"}], **sent}
    request = Request("POST", "u", (), json.dumps(body).encode())
    return Exchange("e", "s", "main", request, response, None, "2026-11-22T00:00:00+00:00")


def findings(identity: str, exchanges: Mapping[str, Exchange]) -> list[str]:
    """Return where a check reports something, if anything could be compared."""
    context = Context(load("vllm"), NONE, "m", NONE, NONE)
    try:
        return [item.where for item in CHECKS[identity].judge(exchanges, context)]
    except NotExercised:
        return []


@pytest.mark.parametrize(("first", "last", "reported"), [(430, 452, True), (440, 452, False), (456, 452, False)])
def test_words_that_are_lost_at_the_beginnings_of_messages_are_reported(
    first: int, last: int, *, reported: bool
) -> None:
    exchanges = {"first-words": exchange_of("a", first), "last-words": exchange_of("a", last)}
    assert ["/first-words/usage/prompt_tokens"] * reported == findings("prompt.every-character-read", exchanges)


@pytest.mark.parametrize(("null", "text", "reported"), [(143, 143, True), (120, 143, True), (140, 143, False)])
def test_null_that_counts_like_its_name_or_loses_the_call_is_reported(null: int, text: int, *, reported: bool) -> None:
    exchanges = {"after-null": exchange_of("a", null), "after-null-without-null": exchange_of("a", text)}
    assert ["/after-null/usage/prompt_tokens"] * reported == findings("prompt.every-part-read", exchanges)


@pytest.mark.parametrize(
    ("streamed", "reported"),
    [("a\n\n\n\nb", True), ("a b", True), ("a\n\nb", False), ("a\n\nc", False)],
)
def test_a_stream_whose_white_space_alone_differs_is_reported(streamed: str, *, reported: bool) -> None:
    exchanges = {"repeated": exchange_of("a\n\nb", 9), "repeated-streamed": exchange_of(streamed, 9, stream=True)}
    assert ["/repeated-streamed/choices/0/message"] * reported == findings("stream.marks-kept", exchanges)
