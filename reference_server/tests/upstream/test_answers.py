"""Tests of what a gateway makes of an upstream's answers: nothing unasked, invented or silently replaced."""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any

import httpx
import orjson
import pytest

from openapi.contract.contract import load
from openapi.stream import sse
from reference_server.answer.completion import build_completion
from reference_server.answer.response_fields import AnswerMetadata
from reference_server.engine import SamplingParams, ToolUse
from reference_server.tests.gateway import gateway
from reference_server.tests.quirky_upstream import (
    MODELS,
    ReceivedRequest,
    answer,
    event,
    plain,
    quirky,
    sends,
    streaming,
    text_chunk,
    usage,
    usage_chunk,
)
from reference_server.tests.scripted_engine import PATIENCE_S
from reference_server.upstream.answer_reader import AnswerReader
from reference_server.upstream.client.connection import BrokenAnswer
from reference_server.upstream.request_translation import UpstreamRequest

if TYPE_CHECKING:
    import socket

MINDIE = load("mindie-2.3")
REQUEST = {"model": "tiny", "messages": [{"role": "user", "content": "Hello"}]}


def post(address: str, **fields: Any) -> httpx.Response:
    return httpx.post(f"{address}/v1/chat/completions", json={**REQUEST, **fields}, timeout=PATIENCE_S)


def entry(text: str, count: int) -> dict[str, Any]:
    tokens = [{"token": f"{text}{at}", "logprob": -1.0 - at, "bytes": None} for at in range(count)]
    return {"token": text, "logprob": -1.0, "bytes": None, "top_logprobs": tokens}


@pytest.mark.parametrize("asked", [0, 2, 5])
def test_no_more_alternatives_are_passed_on_than_requested(asked: int) -> None:
    chunk = text_chunk("He")
    chunk["choices"][0]["logprobs"] = {"content": [entry("He", 20)]}
    data = event(chunk) + event(text_chunk(None, "stop")) + event(usage_chunk(5, 1))
    with quirky(sends(streaming(data))) as upstream, gateway(MINDIE, upstream.address) as front:
        choice = post(front.address, logprobs=True, top_logprobs=asked).json()["choices"][0]
    tokens = [alternative["token"] for alternative in choice["logprobs"]["content"][0]["top_logprobs"]]
    assert tokens == [f"He{at}" for at in range(asked)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("reported", [9, None, 0])
def test_unknown_prompt_tokens_are_asked_for_or_left_out(stream: bool, reported: int | None) -> None:
    """The gateway ends the answer at the stop string, before the upstream has reported its counts."""

    def script(request: ReceivedRequest, peer: socket.socket) -> None:
        if request.body.get("stream"):
            peer.sendall(streaming(answer(("One", " two", " three"))))
            return
        assert request.body == {"model": "theirs", "messages": REQUEST["messages"], "max_tokens": 1}
        counts = {} if reported is None else {"usage": usage(reported, 1)}
        peer.sendall(plain(200, {"choices": [{"message": {"content": "O"}, "finish_reason": "length"}], **counts}))

    with quirky(script) as upstream, gateway(MINDIE, upstream.address, kind="openai") as front:
        fields = {"stop": [" two"], "include_stop_str_in_output": True, "stream": stream}
        first, second = post(front.address, **fields), post(front.address, **fields)
    counts = []
    for response in (first, second):
        data = response.json() if not stream else json.loads(sse.decode([(0.0, response.content)]).events[-2].data)
        counts.append({name: data["usage"].get(name) for name in ("prompt_tokens", "completion_tokens")})
    assert counts == [{"prompt_tokens": reported or None, "completion_tokens": 2}] * 2
    questions = [request for request in upstream.requests if not request.body.get("stream")]
    assert len(questions) == (2 if reported else 1)  # an upstream that does not tell is not asked again


def test_the_question_for_prompt_tokens_is_sent_as_the_upstream_reads_it() -> None:
    """`transformers serve` refuses the names of fields that it reads from a string of JSON."""

    def script(request: ReceivedRequest, peer: socket.socket) -> None:
        if request.body.get("stream"):
            peer.sendall(streaming(b"".join(map(event, map(text_chunk, ("One", " two", " three"))))))
        else:
            peer.sendall(plain(200, {"choices": [], "usage": usage(9, 1)}))

    with quirky(script) as upstream, gateway(MINDIE, upstream.address, kind="transformers") as front:
        assert 9 == post(front.address, stop=[" two"]).json()["usage"]["prompt_tokens"]
    sent, asked = (request.body for request in upstream.requests)
    assert {**sent, "max_tokens": 1} == {**sent, **asked}
    assert [] == [name for name in asked if "." in name]


TOO_LONG = "This model's maximum context length is 4096 tokens and your request has {} input tokens"


@pytest.mark.parametrize("listed", [True, False])
def test_a_limit_beyond_the_context_is_no_reason_to_refuse(listed: bool) -> None:
    def script(request: ReceivedRequest, peer: socket.socket) -> None:
        refused = plain(400, {"error": {"message": TOO_LONG.format(27)}})
        peer.sendall(refused if request.body.get("max_tokens", 0) > 4069 else streaming(answer()))

    models = {"object": "list", "data": [{**MODELS["data"][0], **({"max_model_len": 4096} if listed else {})}]}  # type: ignore[dict-item]
    with quirky(script, models) as upstream, gateway(MINDIE, upstream.address) as front:
        assert [post(front.address, max_tokens=limit).status_code for limit in (2**31 - 1, 4096, 4090, 7)] == [200] * 4
    sent = [request.body.get("max_tokens") for request in upstream.requests]
    assert sent == ([None, None, 4090, None, 7] if listed else [2**31 - 1, None, 4096, None, 4090, None, 7])


def test_a_prompt_beyond_the_context_is_refused_with_what_the_upstream_says_about_it() -> None:
    refusal = plain(400, {"error": {"message": TOO_LONG.format(5000)}})
    with quirky(sends(refusal)) as upstream, gateway(MINDIE, upstream.address) as front:
        response = post(front.address, max_tokens=7)
    assert response.status_code == MINDIE.errors.kinds["prompt_too_long"].status
    assert "messages: " + TOO_LONG.format(5000) in response.text
    assert len(upstream.requests) == 2


@pytest.mark.parametrize("content", ["a" * 128 * 512, [{"type": "text", "text": "a" * 128 * 512}]])
def test_a_prompt_that_cannot_fit_into_a_stated_context_is_refused_and_not_sent(content: object) -> None:
    with quirky(sends(streaming(answer()))) as upstream, gateway(MINDIE, upstream.address, context=512) as front:
        refused = post(front.address, messages=[{"role": "user", "content": content}])
        assert 200 == post(front.address, messages=[{"role": "user", "content": "a" * 127 * 512}]).status_code
    assert MINDIE.errors.kinds["prompt_too_long"].status == refused.status_code
    assert "at least 512 tokens, but at most 511 fit" in refused.text
    assert 1 == len(upstream.requests)


@pytest.mark.parametrize("stream", [False, True])
def test_bytes_that_are_not_utf8_end_the_answer_with_an_error(stream: bool) -> None:
    good, bad = event(text_chunk("He")), event(text_chunk("l?o")).replace(b"?", b"\xe4\xb8")
    with quirky(sends(streaming(good + bad + answer()))) as upstream, gateway(MINDIE, upstream.address) as front:
        response = post(front.address, stream=stream)
    assert "\ufffd" not in response.text
    assert "did not finish" in response.text
    assert "[DONE]" not in response.text
    assert ('"He"' in response.text) is stream
    whole = plain(200, {"choices": [{"message": {"content": "?"}, "finish_reason": "stop"}]}).replace(b"?", b"\xff")
    with quirky(sends(whole)) as upstream, gateway(MINDIE, upstream.address) as front:
        assert post(front.address).status_code == 500


def test_a_replacement_character_that_the_upstream_wrote_itself_is_passed_on() -> None:
    with quirky(sends(streaming(answer(("a\ufffd",))))) as upstream, gateway(MINDIE, upstream.address) as front:
        assert post(front.address).json()["choices"][0]["message"]["content"] == "a\ufffd"


WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**70,
    1e308,
    -0.0,
    "",
    "\x00",
    "x" * 5000,
    [],
    [[]],
    {},
    {"a": 1},
    [None],
    "stop",
)
"""Values that are put in place of any value of an answer."""


def test_wrong_values_in_an_answer_are_no_internal_error() -> None:
    """Whatever stands in place of any value: the answer can be rendered, or it is broken in a way that is expected."""
    random = Random(15)
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chunk = text_chunk("He", usage=usage(4, 1))
    chunk["choices"][0] |= {"logprobs": {"content": [entry("He", 2)]}, "stop_reason": "x"}
    chunk["choices"][0]["delta"] |= {"tool_calls": [call], "reasoning_content": "Hm"}
    source = json.dumps([chunk, text_chunk(None, "stop"), usage_chunk(5, 2)])
    params = SamplingParams(logprobs=2, reasoning=True, tools=ToolUse(()), stop=("END",))
    request = UpstreamRequest({}, params, stream=True, cut=True, stops_upstream=True)
    rendered = 0
    for _ in range(3000):
        chunks = json.loads(source)
        holder, name = random.choice(list(walk_places(chunks)))
        holder[name] = random.choice(WRONG)
        reader = AnswerReader(request, 0.0)
        with suppress(BrokenAnswer):
            read = [delta for value in chunks if isinstance(value, dict) for delta in reader.read_chunk(value, 1.0)]
            read += reader.end()
            orjson.dumps(build_completion(load("vllm"), AnswerMetadata("a", 1, "tiny"), reader.prompt_tokens, read))
            rendered += 1
    assert rendered > 1000


def walk_places(value: Any) -> Any:
    """Yield the holder and the key of each value inside a JSON value."""
    for name, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, name
        if isinstance(item, (dict, list)):
            yield from walk_places(item)


@pytest.mark.parametrize("neighbours", [[], [{"index": 0, "delta": {}}]])
def test_the_last_usage_counts_the_answer_whatever_stands_next_to_it(neighbours: list[Any]) -> None:
    """Upstreams such as LiteLLM put an empty choice next to the usage of the whole answer."""
    last = {**usage_chunk(5, 7), "choices": neighbours}
    data = b"".join(map(event, [text_chunk("He"), text_chunk("llo"), text_chunk(None, "length"), last]))
    with quirky(sends(streaming(data))) as upstream, gateway(MINDIE, upstream.address) as front:
        counts = post(front.address).json()["usage"]
    assert (counts["prompt_tokens"], counts["completion_tokens"]) == (5, 7)


@pytest.mark.parametrize(("reason", "tokens"), [("length", 2), ("stop", 3)])
def test_without_usage_only_an_answer_that_ends_by_itself_has_a_token_for_its_end(reason: str, tokens: int) -> None:
    data = b"".join(map(event, [text_chunk(""), text_chunk("He"), text_chunk("llo"), text_chunk(None, reason)]))
    with quirky(sends(streaming(data))) as upstream, gateway(MINDIE, upstream.address) as front:
        assert post(front.address).json()["usage"]["completion_tokens"] == tokens
