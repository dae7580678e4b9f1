"""Tests of the limits of a connection: size and duration of requests, and clients that do not read."""

from __future__ import annotations

import json
import socket
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
import jsonschema_rs
import pytest

from openapi.contract.contract import load
from reference_server.errors import transport_error_body
from reference_server.http.byte_counts import ConnectionLimits
from reference_server.settings import Settings
from reference_server.tests.scripted_engine import PATIENCE_S, ScriptedEngine, running

if TYPE_CHECKING:
    from collections.abc import Iterator

PATH = "/v1/chat/completions"
BODY = json.dumps({"model": "tiny", "messages": [{"role": "user", "content": "Hello"}]}).encode()
HEAD = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(BODY)}\r\n"
SHORT = 0.1


@contextmanager
def connected(engine: ScriptedEngine | None = None, **limits: float) -> Iterator[tuple[socket.socket, str]]:
    """Yield a socket connected to a server with these limits, and the server's address."""
    options = ConnectionLimits(**limits)  # type: ignore[arg-type]
    with running(load("mindie"), engine or ScriptedEngine(), Settings(model="tiny"), limits=options) as server:
        target = urlsplit(server.address)
        with socket.create_connection((target.hostname, target.port), timeout=PATIENCE_S) as connection:
            yield connection, server.address


def read_until_closed(connection: socket.socket) -> bytes:
    """Return all data until the server closes the connection."""
    received = b""
    while part := connection.recv(65536):
        received += part
    return received


def read_response(connection: socket.socket) -> bytes:
    """Read one plain response and return its head."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += receive(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += receive(connection)
    return head


def receive(connection: socket.socket) -> bytes:
    part = connection.recv(65536)
    if not part:
        raise ConnectionError("the connection ended within a response")
    return part


@pytest.mark.parametrize("sent", [b"G", HEAD.encode(), b"\r\n"])
def test_a_head_that_does_not_end_times_out(sent: bytes) -> None:
    with connected(head_s=SHORT) as (connection, _):
        connection.sendall(sent)
        assert read_until_closed(connection).startswith(b"HTTP/1.1 408 ")


def test_a_connection_without_a_request_is_closed_silently() -> None:
    with connected(idle_s=SHORT) as (connection, _):
        assert read_until_closed(connection) == b""


def test_the_connection_of_a_refused_endless_body_is_closed() -> None:
    with connected(body_s=SHORT) as (connection, _):
        connection.sendall(f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n".encode())
        received = read_until_closed(connection)
    assert received.startswith(b"HTTP/1.1 413 ")
    assert received.count(b"HTTP/1.1") == 1


def test_a_response_may_take_longer_than_the_limits_of_its_request() -> None:
    engine = ScriptedEngine(["word "] * 300 + [""], pace_s=0.001)
    with connected(engine, head_s=SHORT, body_s=SHORT) as (connection, _):
        for _ in range(2):
            connection.sendall(HEAD.encode() + b"\r\n" + BODY)
            assert read_response(connection).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "head",
    [
        HEAD + "X-Long: " + "x" * 100_000 + "\r\n\r\n",
        HEAD + "".join(f"X-{number}: 1\r\n" for number in range(10_000)) + "\r\n",
        f"GET /{'x' * 100_000} HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=["one-long-field", "many-fields", "long-path"],
)
@pytest.mark.parametrize("piece", [100_000_000, 1000])
def test_a_head_beyond_the_limit_is_refused(head: str, piece: int) -> None:
    raw = head.encode()
    with connected() as (connection, address):
        try:
            for at in range(0, len(raw), piece):
                connection.sendall(raw[at : at + piece])
            received = read_until_closed(connection)
        except ConnectionError:  # the server closed the connection before all was sent
            received = b"HTTP/1.1 431 "
        assert received.startswith(b"HTTP/1.1 431 ")
        assert httpx.get(f"{address}/health").status_code == 200


def test_a_head_below_the_limit_and_a_large_body_in_one_piece_are_accepted() -> None:
    head = HEAD.replace(str(len(BODY)), str(len(BODY) + 500_000)) + "X-Long: " + "x" * 60_000 + "\r\n\r\n"
    with connected() as (connection, _):
        connection.sendall(head.encode() + BODY + b" " * 500_000)
        assert read_response(connection).startswith(b"HTTP/1.1 200 ")


def test_pipelined_requests_are_answered_in_order() -> None:
    with connected() as (connection, _):
        last = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        connection.sendall((HEAD.encode() + b"\r\n" + BODY) * 2 + last)
        received = read_until_closed(connection)
    assert received.count(b"HTTP/1.1 200 OK") == 3


@pytest.mark.parametrize("protocol", ["h2c", "websocket"])
@pytest.mark.parametrize("piece", [100_000, 7])
def test_an_upgrade_header_is_ignored_and_the_body_is_read(protocol: str, piece: int) -> None:
    upgrade = f"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: {protocol}\r\nHTTP2-Settings: AAE\r\n\r\n"
    raw = (HEAD + upgrade).encode() + BODY
    with connected() as (connection, _):
        for _ in range(2):
            for at in range(0, len(raw), piece):
                connection.sendall(raw[at : at + piece])
            assert read_response(connection).startswith(b"HTTP/1.1 200 ")


def test_a_stream_for_http_1_0_is_not_chunked_and_ends_with_the_connection() -> None:
    streamed = json.dumps({**json.loads(BODY), "stream": True}).encode()
    with connected() as (connection, _):
        connection.sendall(f"POST {PATH} HTTP/1.0\r\nContent-Length: {len(streamed)}\r\n\r\n".encode() + streamed)
        head, _, events = read_until_closed(connection).partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower()
    assert events.startswith(b"data: {")
    assert events.endswith(b"data: [DONE]\n\n")


def test_a_complete_request_is_answered_before_invalid_data_closes_the_connection() -> None:
    with connected() as (connection, _):  # without Content-Length the body counts as an invalid second request
        connection.sendall(f"POST {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode() + BODY)
        received = read_until_closed(connection)
    assert received.count(b"HTTP/1.1 ") == 1
    assert received.startswith(b"HTTP/1.1 422 ")
    assert b"the body is empty" in received


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("Host: x\r\n", "", 400),
        ("Host: x\r\n", "Host: x\r\nhost: x\r\n", 400),
        ("HTTP/1.1\r\nHost: x\r\n", "HTTP/1.0\r\nHost: x\r\nHost: y\r\n", 400),
        ("HTTP/1.1\r\nHost: x\r\n", "HTTP/1.0\r\n", 200),
        ("HTTP/1.1", "HTTP/2.0", 505),
        ("HTTP/1.1", "HTTP/0.9", 505),
    ],
)
def test_a_head_needs_one_host_header_and_a_supported_version(old: str, new: str, status: int) -> None:
    with connected() as (connection, _):
        connection.sendall(HEAD.replace(old, new).encode() + b"Connection: close\r\n\r\n" + BODY)
        received = read_until_closed(connection)
    assert received.startswith(b"HTTP/1.1 %d " % status)
    assert 1 == received.count(b"HTTP/1.1 ")


def test_an_invalid_pipelined_head_closes_the_connection_after_the_first_response() -> None:
    with connected() as (connection, _):
        whole = HEAD.encode() + b"\r\n" + BODY
        connection.sendall(whole + whole.replace(b"Host: x\r\n", b""))
        received = read_until_closed(connection)
    assert (True, 1) == (received.startswith(b"HTTP/1.1 200 "), received.count(b"HTTP/1.1 "))


def test_a_pipelined_request_that_does_not_end_times_out_after_the_first_response() -> None:
    for rest in (b"G", HEAD.encode(), HEAD.encode() + b"\r\n" + BODY[:-1]):
        engine = ScriptedEngine(["word "] * 300 + [""], pace_s=0.001)
        with connected(engine, head_s=SHORT, body_s=SHORT) as (connection, _):
            connection.sendall(HEAD.encode() + b"\r\n" + BODY + rest)
            received = read_until_closed(connection)
        assert received.startswith(b"HTTP/1.1 200 ")
        assert received.count(b"HTTP/1.1 ") == 2
        assert received.rpartition(b"HTTP/1.1 ")[2].startswith(b"408 ")


@pytest.mark.parametrize(
    ("sent", "status"),
    [(b"not a request\r\n\r\n", 400), (b"GET / HTTP/1.1\r\nX: " + b"y" * 70_000 + b"\r\n\r\n", 431), (b"G", 408)],
)
def test_transport_errors_use_the_envelope_of_the_dialect(sent: bytes, status: int) -> None:
    with connected(head_s=SHORT) as (connection, _):
        connection.sendall(sent)
        head, _, body = read_until_closed(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"content-type: application/json" in head
    assert b"\r\ndate: " in head
    assert {"error", "error_type"} == set(json.loads(body))


@pytest.mark.parametrize("dialect", ["openai", "vllm", "ovms", "siliconstorm", "mindie-1.0"])
def test_the_envelope_of_transport_errors_matches_its_schema(dialect: str) -> None:
    contract = load(dialect)
    body = json.loads(transport_error_body(contract.errors, 408, "too late"))
    jsonschema_rs.validator_for(contract.errors.schema).validate(body)
    assert "too late" in json.dumps(body)
    if dialect == "vllm":
        assert (408, "Request Timeout") == (body["error"]["code"], body["error"]["type"])


CHUNKED = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
FLOOD_BYTES = 64 * 2**20  # more than the bound and the buffers of both sockets together


@pytest.mark.parametrize(
    ("begin", "repeated"),
    [
        (b"2\r\n{}\r\n0\r\n", b"X-Trailer: " + b"y" * 1000 + b"\r\n"),
        (b"2\r\n{}\r\n0\r\nX-Trailer: ", b"y" * 1000),
        (b"2;extension=", b"y" * 1000),
        (b"", b"1;extension=" + b"y" * 1000 + b"\r\n \r\n"),
        (b"", b"1\r\n \r\n" * 100),
    ],
    ids=["trailers", "one-trailer", "one-extension", "extensions", "tiny-chunks"],
)
def test_every_byte_of_a_chunked_body_counts_against_a_bound(begin: bytes, repeated: bytes) -> None:
    with connected() as (connection, address):
        sent, received = 0, b""
        try:
            connection.sendall(CHUNKED + begin)
            while sent < FLOOD_BYTES and not received:
                connection.sendall(repeated * 50)
                sent += len(repeated) * 50
                connection.setblocking(False)
                with suppress(BlockingIOError):
                    received = connection.recv(65536)
                connection.settimeout(PATIENCE_S)
        except ConnectionError:  # the server closed the connection before all was sent
            sent = 0
        assert sent < FLOOD_BYTES
        assert received[:13] in (b"", b"HTTP/1.1 413 ", b"HTTP/1.1 400 ")
        assert httpx.get(f"{address}/health").status_code == 200


def test_trailers_are_accepted_and_change_no_header() -> None:
    settings = Settings(model="tiny", api_key="key-1")
    with running(load("siliconstorm"), ScriptedEngine(), settings) as server:
        target = urlsplit(server.address)
        with socket.create_connection((target.hostname, target.port), timeout=PATIENCE_S) as connection:
            connection.sendall(CHUNKED.replace(PATH.encode(), load("siliconstorm").path.encode()))
            connection.sendall(b"%x\r\n%s\r\n0\r\nAuthorization: Bearer key-1\r\n\r\n" % (len(BODY), BODY))
            assert read_response(connection).startswith(b"HTTP/1.1 401 ")
    with connected() as (connection, _):
        for _ in range(2):
            connection.sendall(CHUNKED + b"%x\r\n%s\r\n0\r\nX-Checksum: 1\r\n\r\n" % (len(BODY), BODY))
            assert read_response(connection).startswith(b"HTTP/1.1 200 ")


def test_the_rest_of_a_refused_body_counts_against_a_bound() -> None:
    with connected(body_bytes=300_000) as (connection, _):
        connection.sendall(f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n".encode())
        assert read_response(connection).startswith(b"HTTP/1.1 413 ")
        with pytest.raises(ConnectionError):
            connection.sendall(b" " * 90_000_000)


def test_pipelined_requests_are_read_only_as_fast_as_they_are_answered() -> None:
    requests = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" * 100_000
    with connected(ScriptedEngine(held=True)) as (connection, address):
        connection.sendall(HEAD.encode() + b"\r\n" + BODY)  # is never answered
        connection.setblocking(False)
        sent = 0
        with suppress(BlockingIOError):
            while sent < len(requests):
                sent += connection.send(requests[sent:])
        started = time.monotonic()
        assert httpx.get(f"{address}/health").status_code == 200
        assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    ("version", "coding", "status"),
    [
        ("1.1", "gzip, chunked", 501),
        ("1.1", "identity, chunked", 501),
        ("1.1", "chunked\r\nTransfer-Encoding: chunked", 400),
        ("1.0", "chunked", 400),
    ],
)
def test_a_body_in_an_unknown_transfer_coding_is_refused(version: str, coding: str, status: int) -> None:
    head = f"POST {PATH} HTTP/{version}\r\nHost: x\r\nTransfer-Encoding: {coding}\r\n\r\n"
    with connected() as (connection, _):
        connection.sendall(head.encode() + b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY))
        assert read_until_closed(connection).startswith(b"HTTP/1.1 %d " % status)


def test_a_head_that_ends_at_the_boundary_of_two_packets_does_not_count_the_body() -> None:
    head = HEAD.replace(str(len(BODY)), str(len(BODY) + 200_000)) + "\r\n"
    with connected() as (connection, _):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(head[:-2].encode())
        time.sleep(0.05)
        connection.sendall(b"\r\n" + BODY + b" " * 200_000)
        assert read_response(connection).startswith(b"HTTP/1.1 200 ")
