"""Tests of the gateway with upstreams that have quirks, fail, or refuse requests."""

from __future__ import annotations

import json
import select
import socket
import threading
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from openapi.contract.contract import load
from openapi.stream import sse
from openapi.stream.event_order import walk
from reference_server.tests.gateway import gateway
from reference_server.tests.quirky_upstream import (
    STREAM_HEAD,
    ReceivedRequest,
    answer,
    chunked,
    event,
    plain,
    quirky,
    sends,
    streaming,
    text_chunk,
    usage,
    usage_chunk,
    wait_for_disconnect,
)
from reference_server.tests.scripted_engine import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable

MINDIE = load("mindie-2.3")
REQUEST = {"model": "tiny", "messages": [{"role": "user", "content": "Hello"}]}
KEY = "sk-of-the-upstream"


def post(address: str, dialect: str = "mindie-2.3", **fields: Any) -> httpx.Response:
    return httpx.post(address + load(dialect).path, json={**REQUEST, **fields}, timeout=PATIENCE_S)


def events(response: httpx.Response) -> list[str]:
    return [event.data for event in sse.decode([(0.0, response.content)]).events]


def usage_in_every_chunk(*texts: str) -> bytes:
    """Return a stream like vLLM's with continuous_usage_stats, with a role in every delta too."""
    chunks = [text_chunk(text, usage=usage(4, at + 1)) for at, text in enumerate(texts)]
    for chunk in chunks:
        chunk["choices"][0]["delta"]["role"] = "assistant"
    chunks += [text_chunk(None, "stop", usage=usage(4, len(texts) + 1)), usage_chunk(4, len(texts) + 1)]
    return b"".join(map(event, chunks)) + b"data: [DONE]\n\n"


TEXTS = ("Hé", "llo\u2028", "世界", "!")
PLAIN = answer(TEXTS)
QUIRKS = {
    "no quirk": PLAIN,
    "usage and role on every chunk": usage_in_every_chunk(*TEXTS),
    "comments": b": hello\n\n" + PLAIN.replace(b"data: {", b": keep-alive\n\ndata: {"),
    "CRLF line ends": PLAIN.replace(b"\n", b"\r\n"),
    "CR line ends": PLAIN.replace(b"\n", b"\r"),
    "no space after the colon": PLAIN.replace(b"data: ", b"data:"),
    "event names and ids": PLAIN.replace(b"data: {", b"event: chunk\nid: 7\nretry: 10\ndata: {"),
    "no [DONE]": PLAIN.removesuffix(b"data: [DONE]\n\n"),
    "more after the finish reason": PLAIN + event(text_chunk("more")) + b"data: [DONE]\n\n",
    "raw characters": b"".join(
        b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"
        for chunk in [*map(text_chunk, TEXTS), text_chunk(None, "stop"), usage_chunk(5, 5)]
    ),
}
FRAMES: dict[str, Callable[[bytes], bytes]] = {
    "one piece": streaming,
    "single bytes": lambda body: STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(body, 1),
    "until the connection closes": lambda body: STREAM_HEAD + b"Connection: close\r\n\r\n" + body,
    "an interim response first": lambda body: b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + streaming(body),
}


@pytest.mark.takes_turns
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("quirk", QUIRKS)
def test_quirks_do_not_reach_the_client(quirk: str, frame: str) -> None:
    data = FRAMES[frame](QUIRKS[quirk])

    def script(_request: ReceivedRequest, peer: socket.socket) -> None:
        peer.sendall(data)
        if frame == "until the connection closes":
            raise ConnectionResetError

    with quirky(script) as upstream, gateway(MINDIE, upstream.address) as front:
        streamed, whole = post(front.address, stream=True), post(front.address)
    walked = walk(events(streamed))
    assert (walked.breaches, walked.choices[0].content) == ((), "".join(TEXTS))
    answered = whole.json()
    assert "".join(TEXTS) == answered["choices"][0]["message"]["content"]
    assert answered["usage"]["completion_tokens"] == 5 == walked.usages[0][1]["completion_tokens"]


def test_only_the_validated_parameters_of_the_client_reach_the_upstream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATPROOF_TEST_UPSTREAM", KEY)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    hostile = {"Authorization": "Bearer of-the-client", "Host": "evil.example", "X-Forwarded-Host": "evil.example"}
    with (
        quirky(sends(streaming(answer()))) as upstream,
        gateway(MINDIE, upstream.address, key_variable="CHATPROOF_TEST_UPSTREAM") as front,
    ):
        body = {**REQUEST, "user": "http://evil.example"}
        where = f"{front.address}/v1/chat/completions?upstream=http://evil.example"
        with httpx.Client(trust_env=False, timeout=PATIENCE_S) as client:
            assert client.post(where, json=body, headers=hostile).status_code == 200
    (request,) = upstream.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers == {
        "host": upstream.address.removeprefix("http://"),
        "accept": "application/json, text/event-stream",
        "user-agent": "chatproof",
        "authorization": f"Bearer {KEY}",
        "content-type": "application/json",
        "content-length": request.headers["content-length"],
    }
    assert request.body["model"] == "theirs"
    assert "user" not in request.body


def test_parameters_have_the_names_and_values_of_the_upstream() -> None:
    sent: dict[str, Any] = {
        "seed": 2**64 - 1,
        "top_k": 0,
        "repetition_penalty": 1.5,
        "stop": "END",
        "stop_token_ids": [13, 2],
    }
    with quirky(sends(streaming(answer()))) as upstream, gateway(MINDIE, upstream.address) as front:
        assert post(front.address, **sent, max_tokens=7, temperature=0.5).status_code == 200
    assert upstream.requests[0].body == {
        "model": "theirs",
        "messages": REQUEST["messages"],
        "stream": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        "max_tokens": 7,
        "temperature": 0.5,
        "top_p": 1.0,
        "top_k": -1,
        "min_p": 0.0,
        "min_tokens": 0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "repetition_penalty": 1.5,
        "seed": -1,
        "stop": ["END"],
        "stop_token_ids": [2, 13],
        "include_stop_str_in_output": False,
        "skip_special_tokens": True,
        "ignore_eos": False,
        "priority": 0,
    }


@pytest.mark.takes_turns
@pytest.mark.parametrize(
    ("reply", "status", "phrase"),
    [
        (plain(429, {"error": {"message": "slow down"}}, "Retry-After: 7"), 503, "full"),
        (plain(503, {"detail": "busy"}, "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT"), 503, "full"),
        (plain(503, {"detail": "busy"}, "Retry-After: Sat, 01 Jan 2101 00:00:00 GMT"), 503, "full"),
        (plain(503, {"detail": "busy"}, "Retry-After: soon"), 503, "full"),
        (plain(400, {"error": {"message": "top_p of theirs is odd"}}), 422, "top_p of tiny is odd"),
        (plain(422, {"detail": [{"msg": "top_p must be less"}]}), 422, "top_p must be less"),
        (plain(400, {"message": "This model's maximum context length is 10 tokens"}), 422, "maximum context length"),
        (plain(401, {"error": {"message": f"wrong key {KEY}"}}), 500, "refused this server's own request"),
        (plain(404, {"error": {"message": "no model theirs"}}), 500, "refused this server's own request"),
        (plain(302, {}, "Location: http://127.0.0.1:1/"), 500, "refused this server's own request"),
        (plain(500, {"error": "Traceback in /home/someone/engine.py"}), 500, "failed on this request"),
        (plain(413, {}), 413, "larger"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello", 500, "did not finish"),
        (streaming(b"data: {\n\n"), 500, "did not finish"),
        (streaming(b"data: []\n\n"), 500, "did not finish"),
        (streaming(event({"error": {"message": "secret message", "code": 500}})), 500, "did not finish"),
        (streaming(event({"error": {"message": "ids beyond the vocabulary", "code": 400}})), 422, "ids beyond the"),
        (streaming(event({"error": {"message": "secret message", "code": 401}})), 500, "this server's own request"),
        (streaming(event({"error": {"message": "secret message", "code": 429}})), 503, "full"),
        (streaming(answer(reason="of its own")), 500, "did not finish"),
        (streaming(answer().replace(b'"Hello"', b"5")), 500, "did not finish"),
        (streaming(answer().replace(b'"index": 0', b'"index": 7')), 500, "did not finish"),
        (b"SSH-2.0-OpenSSH\r\n", 503, "cannot be reached"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, 503, "cannot be reached"),
        (b"", 503, "cannot be reached"),
        (STREAM_HEAD, 503, "cannot be reached"),
        (STREAM_HEAD + b"Content-Length: 10000\r\n\r\n", 500, "did not finish"),
        (STREAM_HEAD + b"Content-Length: 10000\r\n\r\n" + event(text_chunk("He")), 500, "did not finish"),
    ],
)
def test_a_refusal_or_failure_of_the_upstream_becomes_the_dialects_error(
    reply: bytes, status: int, phrase: str
) -> None:
    def script(_request: ReceivedRequest, peer: socket.socket) -> None:
        peer.sendall(reply)
        raise ConnectionResetError

    with quirky(script) as upstream, gateway(MINDIE, upstream.address) as front:
        response = post(front.address)
        port = upstream.address.rpartition(":")[2]
    assert (response.status_code, set(response.json())) == (status, {"error", "error_type"})
    assert phrase in response.json()["error"]
    for secret in (KEY, port, "secret", "Traceback", "someone", "theirs"):
        assert secret not in response.text
    if status == 503:
        assert response.headers["Retry-After"] == ("7" if b": 7" in reply else "86400" if b"2101" in reply else "1")


@pytest.mark.parametrize(
    "ending", [b"", event({"error": {"message": "secret message"}}), b"data: {\n\n", event(text_chunk(None, "odd"))]
)
def test_an_answer_that_breaks_off_ends_with_an_error_and_without_done(ending: bytes) -> None:
    def script(_request: ReceivedRequest, peer: socket.socket) -> None:
        peer.sendall(STREAM_HEAD + b"Content-Length: 10000\r\n\r\n" + event(text_chunk("He")) + ending)
        raise ConnectionResetError

    with quirky(script) as upstream, gateway(MINDIE, upstream.address) as front:
        got = events(post(front.address, stream=True))
    assert json.loads(got[0])["choices"][0]["delta"]["content"] == "He"
    assert set(json.loads(got[-1])) == {"error", "error_type"}
    assert "[DONE]" not in got
    assert "secret" not in got[-1]


@pytest.mark.parametrize("stage", ["first=0.2", "gap=0.2", "total=0.2"])
def test_a_deadline_ends_the_request_at_the_upstream_and_for_the_client(stage: str) -> None:
    def script(_request: ReceivedRequest, peer: socket.socket) -> None:
        if not stage.startswith("first"):
            peer.sendall(STREAM_HEAD + b"Content-Length: 10000\r\n\r\n" + event(text_chunk("He")))
        wait_for_disconnect(peer)

    with quirky(script) as upstream, gateway(MINDIE, upstream.address, timeouts=(stage,)) as front:
        response = post(front.address)
        assert upstream.disconnected.wait(PATIENCE_S)
    assert response.status_code == (503 if stage.startswith("first") else 500)


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_disconnects_ends_the_upstream_request(stream: bool) -> None:
    begun = threading.Event()

    def script(_request: ReceivedRequest, peer: socket.socket) -> None:
        peer.sendall(STREAM_HEAD + b"Content-Length: 10000\r\n\r\n" + event(text_chunk("He")))
        begun.set()
        wait_for_disconnect(peer)

    with quirky(script) as upstream, gateway(MINDIE, upstream.address) as front:
        body = json.dumps({**REQUEST, "stream": stream}).encode()
        host, port = front.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as client:
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            client.sendall(head.encode() + body)
            assert begun.wait(PATIENCE_S)
            if stream:
                client.recv(1)
        assert upstream.disconnected.wait(PATIENCE_S)


def test_a_slow_client_slows_down_the_upstream() -> None:
    """The upstream blocks long before its answer is sent, and the answer is complete once the client reads on."""
    text = "x" * 131_072
    total = 160  # more than the kernel buffers for four sockets
    stalled = threading.Event()

    def script(_request: ReceivedRequest, peer: socket.socket) -> None:
        peer.sendall(STREAM_HEAD + b"Connection: close\r\n\r\n")
        for _ in range(total):
            if not select.select([], [peer], [], 1.0)[1]:
                stalled.set()
            peer.sendall(event(text_chunk(text)))
        finished.set()
        peer.sendall(event(text_chunk(None, "length")) + event(usage_chunk(5, total)))
        raise ConnectionResetError

    finished = threading.Event()
    with (
        quirky(script) as upstream,
        gateway(MINDIE, upstream.address) as front,
        httpx.stream(
            "POST", f"{front.address}/v1/chat/completions", json={**REQUEST, "stream": True}, timeout=PATIENCE_S
        ) as response,
    ):
        assert stalled.wait(PATIENCE_S)
        assert not finished.is_set()
        body = b"".join(response.iter_bytes())
    assert walk([event.data for event in sse.decode([(0.0, body)]).events]).choices[0].content == text * total


def test_upstreams_take_turns_and_an_unreachable_one_is_skipped_until_it_is_back() -> None:
    with (
        quirky(sends(streaming(answer(("first",))))) as first,
        quirky(sends(streaming(answer(("second",))))) as second,
        gateway(MINDIE, first.address, second.address) as front,
    ):

        def ask() -> str:
            text: str = post(front.address).json()["choices"][0]["message"]["content"]
            return text

        assert [ask() for _ in range(4)] == ["first", "second"] * 2
        first.stop()
        assert [ask() for _ in range(4)] == ["second"] * 4
        with quirky(sends(streaming(answer(("again",)))), port=int(first.address.rpartition(":")[2])):
            while ask() != "again":
                pass
            assert {ask(), ask()} == {"again", "second"}


def test_health_is_503_while_no_upstream_is_reachable() -> None:
    with quirky(sends(streaming(answer()))) as upstream, gateway(MINDIE, upstream.address) as front:
        assert httpx.get(f"{front.address}/health").status_code == 200
        upstream.stop()
        refused = post(front.address)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert httpx.get(f"{front.address}/health").status_code == 503
        port = int(upstream.address.rpartition(":")[2])
        with quirky(sends(streaming(answer())), port=port):
            while httpx.get(f"{front.address}/health").status_code != 200:
                pass
            assert post(front.address).status_code == 200


def test_connections_are_reused_and_a_closed_one_loses_no_request() -> None:
    closed = threading.Event()

    def script(request: ReceivedRequest, peer: socket.socket) -> None:
        if request.connection == 2 and len(upstream.requests) == 3:  # the third request, on a reused connection
            closed.set()
            raise ConnectionResetError
        peer.sendall(streaming(answer()))

    with quirky(script) as upstream, gateway(MINDIE, upstream.address) as front:
        assert [post(front.address).status_code for _ in range(3)] == [200] * 3
        assert closed.is_set()
    assert [request.connection for request in upstream.requests] == [2, 2, 2, 3]
