"""The client records every failure of a server, and raises only for our own errors."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.client.client import Client
from conformance.client.recording import Recording
from conformance.client.secret import Secret
from conformance.errors import HarnessError, UsageError
from conformance.exchange import Exchange, Failure
from conformance.tests.raw_server import CHUNKED, CHUNKS, HEADER, KEY, ask, call, part, saying, whole
from openapi.stream.sse import encode


def signal_recorded(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Return an event that is set when the client has recorded a part of a body."""
    event = asyncio.Event()
    add = Recording.add

    def note(self: Any, piece: bytes) -> None:
        add(self, piece)
        event.set()

    monkeypatch.setattr(Recording, "add", note)
    return event


def test_a_reset_keeps_the_data_received_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = signal_recorded(monkeypatch)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + part(encode(CHUNKS[0])))
        await recorded.wait()
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    exchange = ask(handle)
    assert exchange.failure is not None
    assert exchange.failure.kind == "reset"
    assert exchange.body == encode(CHUNKS[0])
    assert (exchange.status, exchange.complete, exchange.succeeded) == (200, False, False)


def test_the_first_failure_is_kept_and_later_ones_are_ignored() -> None:
    ended = Recording(max_body_bytes=9)
    ended.complete = True
    ended.fail("reset", "while closing")
    assert ended.failure is None
    left = Recording(max_body_bytes=9)
    left.fail("too-large", "first")
    left.fail("timeout", "then")
    assert left.failure == Failure("too-large", "first")


BROKEN = {
    "nothing": ([b""], "protocol"),
    "not HTTP": ([b"SSH-2.0-OpenSSH\r\n\r\n"], "protocol"),
    "a bad status": ([b"HTTP/1.1 two hundred\r\n\r\n"], "protocol"),
    "half a header": ([b"HTTP/1.1 200 OK\r\nContent-"], "protocol"),
    "a short body": ([b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"], "protocol"),
    "a stream that is cut off": ([CHUNKED, part(b"data: x\n\n")], "protocol"),
    "a bad chunk": ([CHUNKED, b"zz\r\n"], "protocol"),
    "two lengths": ([b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"], "protocol"),
    "200,000 headers": ([b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 200_000, b"\r\n"], "too-large"),
    "a header of 1 MB": ([b"HTTP/1.1 200 OK\r\nX: ", b"y" * 10**6, b"\r\n\r\n"], "too-large"),
}


@pytest.mark.parametrize(("answer", "kind"), BROKEN.values(), ids=BROKEN)
def test_invalid_http_is_a_failure_with_a_one_line_detail(answer: list[bytes], kind: str) -> None:
    failure = ask(saying(*answer)).failure
    assert failure is not None
    assert failure.kind == kind
    assert "127.0.0.1" in failure.detail
    assert "\n" not in failure.detail


@given(
    st.lists(
        st.binary(max_size=6) | st.sampled_from([HEADER, CHUNKED, b"\r\n", b"5\r\n", b"HTTP/1.1 100 \r\n\r\n"]),
        max_size=6,
    )
)
@settings(derandomize=True, max_examples=100, deadline=None)
def test_no_answer_makes_the_client_raise(pieces: list[bytes]) -> None:
    exchange = ask(saying(b"".join(pieces)), secret=Secret(KEY))
    assert exchange.failure is not None or exchange.response is not None
    assert Exchange.from_dict(json.loads(json.dumps(exchange.to_dict()))) == exchange


def test_a_refused_connection_is_distinguished_from_an_unknown_host(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]

        async def main(url: str) -> Exchange:
            async with Client(url) as client:
                return await client.send(call())

        refused = asyncio.run(main(f"http://127.0.0.1:{port}"))
        assert refused.failure == Failure("connect", f"127.0.0.1:{port} refuses connections: nothing listens there")
        assert refused.response is None

        def resolve(*_: Any, **__: Any) -> Any:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        unknown = asyncio.run(main("http://nowhere.invalid"))
        assert unknown.failure == Failure(
            "connect", "the name nowhere.invalid cannot be resolved: Name or service not known"
        )


@pytest.mark.parametrize("url", ["", "host:80", "ftp://h", "http://", "http://u:p@h", "http://h:port", "http://[::1"])
def test_an_invalid_url_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError):
        Client(url)


@pytest.mark.parametrize(
    "wrong", [{"headers": {"X": "a\nb"}}, {"headers": {"X": "é\u4f60"}}, {"headers": {"": "x"}}, {"method": "PO ST"}]
)
def test_an_invalid_call_is_a_harness_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(HarnessError, match="call c-1 cannot be sent"):
        ask(saying(whole(b"")), **wrong)
