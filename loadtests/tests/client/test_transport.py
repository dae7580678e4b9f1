"""Every way in which a server can fail has its own name, and no failure hangs or raises."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from loadtests.client import answer_parser, held_bytes, sse_scan
from loadtests.client.answer import Answer
from loadtests.client.answer_parser import AnswerParser
from loadtests.client.clock import Clock
from loadtests.client.event_loop import EventLoop
from loadtests.client.held_bytes import HeldBytes
from loadtests.client.transport import Caller, Endpoint
from loadtests.measure.latency import answer_latencies
from loadtests.measure.tally import Tally
from loadtests.tests.scripted_server import DONE, GOOD, chunked, content, dripping, event, saying, serving
from openapi.extra_headers import ExtraHeader

if TYPE_CHECKING:
    from pathlib import Path

    from loadtests.tests.scripted_server import Script

BODY = b'{"model":"m"}'


def calls(script: Script, count: int = 1, *, streamed: bool = True, **options: Any) -> list[Answer]:
    with serving(script) as port:
        caller = Caller(
            Endpoint("127.0.0.1", port, "/v1/chat/completions"),
            EventLoop(Clock()),
            deadline_s=options.pop("deadline_s", 20.0),
        )
        answers = [caller.call(BODY, time.monotonic_ns(), streamed=streamed, **options) for _ in range(count)]
        caller.close()
        return answers


def call(script: Script, **options: Any) -> Answer:
    return calls(script, **options)[0]


PLAIN = b'{"choices":[{"finish_reason":"stop"}],"usage":{"completion_tokens":2}}'
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
FAILURES: dict[str, tuple[Script, bool]] = {
    "no-answer": (saying(b"", close=True), True),
    "cut-off": (saying(GOOD[:-20], close=True), True),
    "malformed-http": (saying(b"SSH-2.0-server\r\n"), True),
    "no-done": (saying(chunked(content("a"))), True),
    "done-twice": (saying(chunked(content("a"), DONE, DONE)), True),
    "no-content": (saying(chunked(DONE)), True),
    "error-event": (saying(chunked(content("a"), event('{"error":{"message":"gone"}}'), DONE)), True),
    "no-stream": (saying(LENGTH % (len(PLAIN), PLAIN)), True),
    "no-json": (saying(LENGTH % (4, b"<p>!")), False),
    "error-answer": (saying(LENGTH % (13, b'{"error":"x"}')), False),
    "http-500": (saying(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"), True),
    "http-401": (saying(b"HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\n{}"), False),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_is_counted_under_its_own_name(kind: str) -> None:
    script, streamed = FAILURES[kind]
    answer = call(script, streamed=streamed)
    assert kind == answer.failure
    assert answer.ended_ns >= answer.sent_ns > 0


@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_an_answer_is_the_same_however_its_bytes_are_cut(size: int) -> None:
    def script(peer: Any, _: bytes) -> None:
        for at in range(0, len(GOOD), size):
            peer.sendall(GOOD[at : at + size])

    answer = call(script)
    assert (None, 200, 2) == (answer.failure, answer.status, sum(answer.counts))


def test_the_detail_of_a_failure_describes_what_the_server_sent() -> None:
    moved = b"HTTP/1.1 307 Moved\r\nLocation: http://other/\r\nContent-Length: 2\r\n\r\n{}"
    zipped = GOOD.replace(b"\r\n", b"\r\nContent-Encoding: gzip\r\n", 1)
    assert [
        ("http-307", "to http://other/: {}"),
        ("encoded", "content encoding gzip, but only identity was accepted"),
        ("malformed-http", "Expected HTTP/, RTSP/ or ICE/"),
    ] == [
        (answer.failure, answer.detail) for answer in map(call, (saying(moved), saying(zipped), saying(b"SSH-2.0\r\n")))
    ]


def test_extra_headers_are_in_every_request() -> None:
    seen: list[bytes] = []

    def script(peer: Any, request: bytes) -> None:
        seen.append(request)
        peer.sendall(GOOD)

    headers = (ExtraHeader("api-key", "k", secret=True), ExtraHeader("X-Tenant", "blue"))
    with serving(script) as port:
        caller = Caller(Endpoint("127.0.0.1", port, "/"), EventLoop(Clock()), headers=headers)
        assert [None] * 2 == [caller.call(BODY, time.monotonic_ns()).failure for _ in "ab"]
        caller.close()
    assert [(1, 1)] * 2 == [
        (request.count(b"\r\napi-key: k\r\n"), request.count(b"X-Tenant: blue\r\n")) for request in seen
    ]


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    data = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + content("a") + DONE
    assert call(saying(data, close=True)).failure is None


def test_an_answer_without_streaming_gives_its_usage() -> None:
    answer = call(saying(LENGTH % (len(PLAIN), PLAIN)), streamed=False)
    assert (None, 2, "stop") == (answer.failure, answer.completion_tokens, answer.finish_reason)


def test_an_interim_answer_is_not_the_answer() -> None:
    assert call(saying(b"HTTP/1.1 103 Early Hints\r\n\r\n" + GOOD)).failure is None


def test_429_states_how_long_to_wait_and_an_absurd_wait_is_limited() -> None:
    date = "Sat, 21 Nov 2026 10:00:{} GMT"
    waits = {"7": 7.0, "999999999": 3600.0, "soon": None, date.format("09"): 8.0, date.format("00"): 0.0}
    for retry_after, expected_s in waits.items():
        head = f"HTTP/1.1 429 Slow\r\nDate: {date.format('01')}\r\nRetry-After: {retry_after}\r\n"
        data = f"{head}Content-Length: 0\r\n\r\n".encode()
        answer = call(saying(data))
        assert ("http-429", expected_s) == (answer.failure, answer.retry_after_s)


def test_a_connection_is_kept_and_one_that_the_server_closed_is_opened_again() -> None:
    kept = calls(saying(GOOD), count=3)
    assert [True, False, False] == [answer.connect_ns is not None for answer in kept]
    closed = calls(saying(GOOD, close=True), count=3)
    assert [None] * 3 == [answer.failure for answer in closed]


def test_a_port_without_a_listener_is_a_failure_to_connect() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    answer = Caller(Endpoint("127.0.0.1", port, "/"), EventLoop(Clock())).call(BODY, time.monotonic_ns())
    assert "connect" == answer.failure


def test_silence_and_an_endless_drip_end_at_the_deadline() -> None:
    def silent(peer: Any, _: bytes) -> None:
        peer.recv(1)

    for script in (silent, dripping(b": still here\n\n", 0.01)):
        assert "timeout" == call(script, deadline_s=0.3).failure


def test_a_request_that_is_never_read_ends_at_the_deadline_with_its_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        endpoint = Endpoint("127.0.0.1", deaf.getsockname()[1], "/")
        with closing(Caller(endpoint, EventLoop(Clock()), deadline_s=0.3)) as caller:
            answers = [caller.call(b" " * 20_000_000, time.monotonic_ns()) for _ in "ab"]
    assert [("timeout", True)] * 2 == [(answer.failure, answer.connect_ns is not None) for answer in answers]


def test_the_upload_of_a_large_request_ends_when_its_last_bytes_leave() -> None:
    """The server reads the second half after a pause: a kernel that took all bytes at once would hide that."""
    pause_s, size = 0.3, 32_000_000

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)

        def read_slowly() -> None:
            peer, _ = listener.accept()
            with peer:
                left = size
                while left > 0:
                    left -= len(peer.recv(65_536))
                    if left < size / 2:
                        time.sleep(pause_s)
                        break
                while left > 0:
                    left -= len(peer.recv(65_536))
                peer.sendall(GOOD)
                peer.recv(1)

        thread = threading.Thread(target=read_slowly)
        thread.start()
        endpoint = Endpoint("127.0.0.1", listener.getsockname()[1], "/")
        with closing(Caller(endpoint, EventLoop(Clock()))) as caller:
            answer = caller.call(b" " * size, time.monotonic_ns())
        thread.join()
    assert (None, True) == (answer.failure, answer.uploaded_ns is not None)
    latencies = dict(answer_latencies(answer))
    assert latencies["UPLOAD"] >= 1000 * pause_s
    assert latencies["TTFT"] == pytest.approx(latencies["UPLOAD"] + latencies["TTFT after upload"])


def test_a_small_request_has_no_upload_time() -> None:
    assert call(saying(GOOD)).uploaded_ns is None


def test_an_answer_that_is_too_large_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse_scan, "MAX_EVENT", 10_000)
    monkeypatch.setattr(answer_parser, "MAX_BODY", 10_000)
    monkeypatch.setattr(answer_parser, "MAX_EVENTS", 100)
    gigantic = dripping(b"data: " + b"x" * 1000, 0.0)
    endless = dripping(content("a"), 0.0)
    head = saying(b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 20_000 + b"\r\n")
    plain = saying(LENGTH % (20_000, b"x" * 20_000))
    for script in (gigantic, endless, head):
        assert "too-large" == call(script).failure
    assert "too-large" == call(plain, streamed=False).failure


def test_all_answers_in_flight_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_bytes, "MAX_HELD", 100_000)
    held = HeldBytes()

    def parser_of(length: int) -> AnswerParser:
        parser = AnswerParser(Answer(0), streamed=False, held=held)
        parser.feed_read(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length, 1)
        return parser

    parsers = [parser_of(60_000) for _ in range(3)]
    for parser in parsers[:2]:
        parser.feed_read(b"x" * 59_999, 2)
    assert [None, "too-large", None] == [parser.answer.failure for parser in parsers]
    assert "all answers in flight together hold more than 100000 bytes" == parsers[1].answer.detail
    for parser in parsers[:2]:
        parser.release()
    assert 0 == held.total
    parsers[2].feed_read(b"x" * 59_999, 2)
    assert parsers[2].answer.failure is None


def test_a_large_request_is_sent_while_the_server_is_slow() -> None:
    seen: list[int] = []

    def script(peer: Any, request: bytes) -> None:
        seen.append(len(request))
        peer.sendall(GOOD)

    with serving(script) as port, closing(Caller(Endpoint("127.0.0.1", port, "/"), EventLoop(Clock()))) as caller:
        assert caller.call(b" " * 5_000_000, time.monotonic_ns()).failure is None
    assert seen[0] > 5_000_000


def test_tls_is_read_like_plain_http_and_an_unknown_certificate_is_refused(tmp_path: Path) -> None:
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", "/CN=h", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert),
        ],
        check=True,
        capture_output=True,
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    long = chunked(*[content("a" * 1000)] * 100, DONE)
    with serving(saying(long), tls=server) as port:
        trusting = ssl.create_default_context(cafile=str(cert))
        caller = Caller(Endpoint("127.0.0.1", port, "/", trusting), EventLoop(Clock()))
        assert [(None, 100)] * 2 == [
            (answer.failure, sum(answer.counts)) for answer in (caller.call(BODY, time.monotonic_ns()) for _ in "ab")
        ]
        caller.close()
        strict = Caller(Endpoint("127.0.0.1", port, "/", ssl.create_default_context()), EventLoop(Clock()))
        assert "tls" == strict.call(BODY, time.monotonic_ns()).failure


def test_a_sampled_stream_keeps_what_came() -> None:
    answer = call(saying(GOOD), sampled=True)
    assert content("a") + content("b") + DONE == b"".join(data for _, data in answer.segments)
    assert [] == call(saying(GOOD)).segments


def test_a_sampled_stream_that_is_too_long_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_parser, "MAX_SAMPLE", 1000)
    answer = call(saying(chunked(*[content("a")] * 100, DONE)), sampled=True)
    assert (None, []) == (answer.failure, answer.segments)


@pytest.mark.parametrize("tokens", ["1" + "0" * 4000, "-1", "true", "1.5", '"2"', "9007199254740993"])
def test_an_impossible_number_of_tokens_is_unknown(tokens: str) -> None:
    usage = event(f'{{"choices":[],"usage":{{"completion_tokens":{tokens}}}}}')
    answer = call(saying(chunked(content("a"), content("b"), usage, DONE)))
    assert (answer.failure, answer.completion_tokens) == (None, None)
    tally = Tally()
    tally.add(answer, 0, lambda _: True)
    assert (tally.requests, tally.tokens, tally.tokens_unknown) == (1, 2, 1)
