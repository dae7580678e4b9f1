"""The gateway in front of a server with quirks: what it reads in spite of them, and what becomes of failures."""

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
    Asked,
    answer,
    chunked,
    counted,
    event,
    plain,
    quirky,
    said,
    sends,
    streaming,
    until_left,
    usage,
)
from reference_server.tests.scripted_engine import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable

MINDIE = load("mindie-2.3")
REQUEST = {"model": "tiny", "messages": [{"role": "user", "content": "Hello"}]}
KEY = "sk-of-the-upstream"


def post(address: str, dialect: str = "mindie-2.3", **members: Any) -> httpx.Response:
    return httpx.post(address + load(dialect).path, json={**REQUEST, **members}, timeout=PATIENCE_S)


def events(response: httpx.Response) -> list[str]:
    return [event.data for event in sse.decode([(0.0, response.content)]).events]


def each_counted(*texts: str) -> bytes:
    """What vLLM sends with continuous_usage_stats, and more: a role on every delta."""
    chunks = [said(text, usage=usage(4, at + 1)) for at, text in enumerate(texts)]
    for chunk in chunks:
        chunk["choices"][0]["delta"]["role"] = "assistant"
    chunks += [said(None, "stop", usage=usage(4, len(texts) + 1)), counted(4, len(texts) + 1)]
    return b"".join(map(event, chunks)) + b"data: [DONE]\n\n"


TEXTS = ("Hé", "llo\u2028", "世界", "!")
PLAIN = answer(TEXTS)
QUIRKS = {
    "plain manners": PLAIN,
    "usage and role on every chunk": each_counted(*TEXTS),
    "comments": b": hello\n\n" + PLAIN.replace(b"data: {", b": keep-alive\n\ndata: {"),
    "line ends of Windows": PLAIN.replace(b"\n", b"\r\n"),
    "line ends of old": PLAIN.replace(b"\n", b"\r"),
    "no space after the colon": PLAIN.replace(b"data: ", b"data:"),
    "names of events and ids": PLAIN.replace(b"data: {", b"event: chunk\nid: 7\nretry: 10\ndata: {"),
    "no end of its own": PLAIN.removesuffix(b"data: [DONE]\n\n"),
    "more after the end": PLAIN + event(said("more")) + b"data: [DONE]\n\n",
    "raw characters": b"".join(
        b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"
        for chunk in [*map(said, TEXTS), said(None, "stop"), counted(5, 5)]
    ),
}
FRAMES: dict[str, Callable[[bytes], bytes]] = {
    "one piece": streaming,
    "bytes": lambda body: STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(body, 1),
    "until the end": lambda body: STREAM_HEAD + b"Connection: close\r\n\r\n" + body,
    "an interim answer first": lambda body: b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + streaming(body),
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("quirk", QUIRKS)
def test_quirks_do_not_reach_the_client(quirk: str, frame: str) -> None:
    data = FRAMES[frame](QUIRKS[quirk])

    def script(_asked: Asked, peer: socket.socket) -> None:
        peer.sendall(data)
        if frame == "until the end":
            raise ConnectionResetError

    with quirky(script) as upstream, gateway(MINDIE, upstream.address) as front:
        streamed, whole = post(front.address, stream=True), post(front.address)
    walked = walk(events(streamed))
    assert (walked.breaches, walked.choices[0].content) == ((), "".join(TEXTS))
    answered = whole.json()
    assert "".join(TEXTS) == answered["choices"][0]["message"]["content"]
    assert answered["usage"]["completion_tokens"] == 5 == walked.usages[0][1]["completion_tokens"]


def test_nothing_of_the_client_but_its_request_reaches_the_upstream(monkeypatch: pytest.MonkeyPatch) -> None:
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
    (asked,) = upstream.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers == {
        "host": upstream.address.removeprefix("http://"),
        "accept": "application/json, text/event-stream",
        "user-agent": "chatproof",
        "authorization": f"Bearer {KEY}",
        "content-type": "application/json",
        "content-length": asked.headers["content-length"],
    }
    assert asked.body["model"] == "theirs"
    assert "user" not in asked.body


def test_what_is_asked_is_said_in_the_upstreams_words() -> None:
    sent: dict[str, Any] = {
        "seed": 2**64 - 1,
        "top_k": 0,
        "repetition_penalty": 1.5,
        "stop": "END",
        "stop_token_ids": [13, 2],
    }
    with quirky(sends(streaming(answer()))) as upstream, gateway(MINDIE, upstream.address) as front:
        assert post(front.address, **sent, max_tokens=7, temperature=0.5).status_code == 200
    assert upstream.asked[0].body == {
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


@pytest.mark.parametrize(
    ("reply", "status", "words"),
    [
        (plain(429, {"error": {"message": "slow down"}}, "Retry-After: 7"), 503, "full"),
        (plain(503, {"detail": "busy"}, "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT"), 503, "full"),
        (plain(503, {"detail": "busy"}, "Retry-After: Sat, 01 Jan 2101 00:00:00 GMT"), 503, "full"),
        (plain(503, {"detail": "busy"}, "Retry-After: soon"), 503, "full"),
        (plain(400, {"error": {"message": "top_p of theirs is odd"}}), 422, "top_p of tiny is odd"),
        (plain(422, {"detail": [{"msg": "top_p must be less"}]}), 422, "top_p must be less"),
        (plain(400, {"message": "This model's maximum context length is 10 tokens"}), 422, "maximum context length"),
        (plain(401, {"error": {"message": f"wrong key {KEY}"}}), 500, "refuses the server itself"),
        (plain(404, {"error": {"message": "no model theirs"}}), 500, "refuses the server itself"),
        (plain(302, {}, "Location: http://127.0.0.1:1/"), 500, "refuses the server itself"),
        (plain(500, {"error": "Traceback in /home/somebody/engine.py"}), 500, "failed on this request"),
        (plain(413, {}), 413, "larger"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello", 500, "did not finish"),
        (streaming(b"data: {\n\n"), 500, "did not finish"),
        (streaming(b"data: []\n\n"), 500, "did not finish"),
        (streaming(event({"error": {"message": "secret words", "code": 500}})), 500, "did not finish"),
        (streaming(answer(reason="of its own")), 500, "did not finish"),
        (streaming(answer().replace(b'"Hello"', b"5")), 500, "did not finish"),
        (streaming(answer().replace(b'"index": 0', b'"index": 7')), 500, "did not finish"),
        (b"SSH-2.0-OpenSSH\r\n", 503, "cannot be reached"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, 503, "cannot be reached"),
        (b"", 503, "cannot be reached"),
        (STREAM_HEAD, 503, "cannot be reached"),
        (STREAM_HEAD + b"Content-Length: 10000\r\n\r\n", 500, "did not finish"),
        (STREAM_HEAD + b"Content-Length: 10000\r\n\r\n" + event(said("He")), 500, "did not finish"),
    ],
)
def test_a_refusal_or_failure_of_the_upstream_becomes_the_dialects_own(reply: bytes, status: int, words: str) -> None:
    def script(_asked: Asked, peer: socket.socket) -> None:
        peer.sendall(reply)
        raise ConnectionResetError

    with quirky(script) as upstream, gateway(MINDIE, upstream.address) as front:
        response = post(front.address)
        port = upstream.address.rpartition(":")[2]
    assert (response.status_code, set(response.json())) == (status, {"error", "error_type"})
    assert words in response.json()["error"]
    for secret in (KEY, port, "secret", "Traceback", "somebody", "theirs"):
        assert secret not in response.text
    if status == 503:
        assert response.headers["Retry-After"] == ("7" if b": 7" in reply else "86400" if b"2101" in reply else "1")


@pytest.mark.parametrize(
    "ending", [b"", event({"error": {"message": "secret words"}}), b"data: {\n\n", event(said(None, "odd"))]
)
def test_an_answer_that_breaks_off_ends_in_an_error_and_never_in_done(ending: bytes) -> None:
    def script(_asked: Asked, peer: socket.socket) -> None:
        peer.sendall(STREAM_HEAD + b"Content-Length: 10000\r\n\r\n" + event(said("He")) + ending)
        raise ConnectionResetError

    with quirky(script) as upstream, gateway(MINDIE, upstream.address) as front:
        got = events(post(front.address, stream=True))
    assert json.loads(got[0])["choices"][0]["delta"]["content"] == "He"
    assert set(json.loads(got[-1])) == {"error", "error_type"}
    assert "[DONE]" not in got
    assert "secret" not in got[-1]


@pytest.mark.parametrize("stage", ["first=0.2", "gap=0.2", "total=0.2"])
def test_a_deadline_ends_the_request_there_and_here(stage: str) -> None:
    def script(_asked: Asked, peer: socket.socket) -> None:
        if not stage.startswith("first"):
            peer.sendall(STREAM_HEAD + b"Content-Length: 10000\r\n\r\n" + event(said("He")))
        until_left(peer)

    with quirky(script) as upstream, gateway(MINDIE, upstream.address, timeouts=(stage,)) as front:
        response = post(front.address)
        assert upstream.left.wait(PATIENCE_S)
    assert response.status_code == (503 if stage.startswith("first") else 500)


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_takes_the_upstreams_answer_with_it(stream: bool) -> None:
    begun = threading.Event()

    def script(_asked: Asked, peer: socket.socket) -> None:
        peer.sendall(STREAM_HEAD + b"Content-Length: 10000\r\n\r\n" + event(said("He")))
        begun.set()
        until_left(peer)

    with quirky(script) as upstream, gateway(MINDIE, upstream.address) as front:
        body = json.dumps({**REQUEST, "stream": stream}).encode()
        host, port = front.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as client:
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            client.sendall(head.encode() + body)
            assert begun.wait(PATIENCE_S)
            if stream:
                client.recv(1)
        assert upstream.left.wait(PATIENCE_S)


def test_a_client_that_reads_slowly_is_read_for_slowly() -> None:
    """The upstream stands still long before its answer is out, and the answer is whole once the client reads on."""
    text = "x" * 131_072
    total = 160  # more than the kernel keeps for four sockets
    stalled = threading.Event()

    def script(_asked: Asked, peer: socket.socket) -> None:
        peer.sendall(STREAM_HEAD + b"Connection: close\r\n\r\n")
        for _ in range(total):
            if not select.select([], [peer], [], 1.0)[1]:
                stalled.set()
            peer.sendall(event(said(text)))
        finished.set()
        peer.sendall(event(said(None, "length")) + event(counted(5, total)))
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
    assert walk([each.data for each in sse.decode([(0.0, body)]).events]).choices[0].content == text * total


def test_upstreams_take_turns_and_one_that_is_gone_is_left_out_until_it_is_back() -> None:
    with (
        quirky(sends(streaming(answer(("first",))))) as first,
        quirky(sends(streaming(answer(("second",))))) as second,
        gateway(MINDIE, first.address, second.address) as front,
    ):

        def told() -> str:
            text: str = post(front.address).json()["choices"][0]["message"]["content"]
            return text

        assert [told() for _ in range(4)] == ["first", "second"] * 2
        first.stop()
        assert [told() for _ in range(4)] == ["second"] * 4
        with quirky(sends(streaming(answer(("again",)))), port=int(first.address.rpartition(":")[2])):
            while told() != "again":
                pass
            assert {told(), told()} == {"again", "second"}


def test_without_any_upstream_the_gateway_is_unwell_and_says_so() -> None:
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


def test_connections_are_kept_and_one_that_was_closed_meanwhile_costs_no_request() -> None:
    closed = threading.Event()

    def script(asked: Asked, peer: socket.socket) -> None:
        if asked.connection == 2 and len(upstream.asked) == 3:  # the third request, on a kept connection
            closed.set()
            raise ConnectionResetError
        peer.sendall(streaming(answer()))

    with quirky(script) as upstream, gateway(MINDIE, upstream.address) as front:
        assert [post(front.address).status_code for _ in range(3)] == [200] * 3
        assert closed.is_set()
    assert [each.connection for each in upstream.asked] == [2, 2, 2, 3]
