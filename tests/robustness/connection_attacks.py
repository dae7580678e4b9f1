"""Rows about connections: slow, oversized, and never read."""

from __future__ import annotations

import gzip
import time
from typing import TYPE_CHECKING, Final

from openapi.contract.contract import load
from reference_server.settings import MEDIA_BODY_LIMIT_BYTES
from tests.robustness.network_faults import FaultyNetwork, NetworkFault
from tests.robustness.reference_process import KEY, LIMITS, MAIN, ReferenceProcess
from tests.robustness.rows import Attacks, Row
from tests.robustness.wire import Answer, assert_refused, chat, connect, exchange, get, head, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Headers = Mapping[str, str]

ATTACKS: Final = Attacks("server")
SLACK_S: Final = 10.0
"""How much later than its limit something may happen on a busy machine."""
NONE: Final[dict[str, str]] = {}
BLOCK: Final = b"y" * 2**20


def send(
    server: ReferenceProcess, *pieces: bytes, fault: NetworkFault | None = None, headers: Headers = NONE
) -> Answer:
    """Send a POST request in pieces, through a network with a fault if one is given."""
    raw = head("POST", load(MAIN).path, {"Authorization": f"Bearer {KEY}", **headers})
    if fault is None:
        return exchange(server.addresses[MAIN], [raw, *pieces])
    host, port = server.addresses[MAIN].removeprefix("http://").split(":")
    with FaultyNetwork(host, int(port), to_server=fault) as network:
        return exchange(network.url, [raw, *pieces])


@ATTACKS.row(1)
def half_head(server: ReferenceProcess, _: Row) -> None:
    answer = send(server, fault=NetworkFault(silent_after=40))
    assert_refused(answer, MAIN, 408)
    assert LIMITS["head_s"] <= answer.seconds < LIMITS["head_s"] + SLACK_S


@ATTACKS.row(2)
def slow_body(server: ReferenceProcess, _: Row) -> None:
    raw = head("POST", load(MAIN).path, {"Authorization": f"Bearer {KEY}", "Content-Length": "1000"})
    started = time.monotonic()
    with connect(server.addresses[MAIN]) as connection:
        connection.sendall(raw)
        while time.monotonic() < started + LIMITS["body_s"] - 0.5:
            connection.sendall(b" ")
            assert server.post().status == 200
            time.sleep(0.2)
        answer = read(connection, started)
    assert_refused(answer, MAIN, 408)
    assert LIMITS["body_s"] <= answer.seconds < LIMITS["body_s"] + SLACK_S


@ATTACKS.row(3)
def huge_head(server: ReferenceProcess, row: Row) -> None:
    sent = 0

    def pieces() -> Iterator[bytes]:
        nonlocal sent
        yield f"POST {load(MAIN).path} HTTP/1.1\r\nHost: x\r\nX: ".encode()
        for _ in range(row.values["head_bytes"] // len(BLOCK)):
            yield BLOCK
            sent += len(BLOCK)

    many = "".join(f"X-{number}: 1\r\n" for number in range(row.values["fields"]))
    for answer in (
        exchange(server.addresses[MAIN], pieces()),
        exchange(server.addresses[MAIN], [f"GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n".encode()]),
    ):
        if answer.status:  # otherwise the reset of the connection was faster than the response
            assert_refused(answer, MAIN, 431)
    assert sent < row.values["head_bytes"] // 2


@ATTACKS.row(4)
def large_body(server: ReferenceProcess, _: Row) -> None:
    body = chat("x" * MEDIA_BODY_LIMIT_BYTES)
    status = server.status("too_large")
    declared = send(server, body, headers={"Content-Length": str(len(body))})
    assert_refused(declared, MAIN, status)
    only_declared = send(server, headers={"Content-Length": str(len(body)), "Expect": "100-continue"})
    assert only_declared.status in (status, 408)
    chunk = b"%x\r\n%b\r\n" % (2**16, b"x" * 2**16)
    chunks = [chunk] * (MEDIA_BODY_LIMIT_BYTES // 2**16 + 1)
    assert_refused(send(server, *chunks, b"0\r\n\r\n", headers={"Transfer-Encoding": "chunked"}), MAIN, status)
    understated = send(server, body[:1000] + b"\r\n\r\n", headers={"Content-Length": "10"})
    assert_refused(understated, MAIN, server.status("invalid_json"))
    assert b"HTTP/1.1" not in understated.body


@ATTACKS.row(5)
def gzip_bomb(server: ReferenceProcess, row: Row) -> None:
    block = gzip.compress(bytes(2**24))
    bomb = block * (row.values["inflated_bytes"] // 2**24)
    status = server.status("unsupported_media_type")
    answer = send(server, bomb, headers={"Content-Encoding": "gzip", "Content-Length": str(len(bomb))})
    assert_refused(answer, MAIN, status)


@ATTACKS.row(31)
def client_that_does_not_read(server: ReferenceProcess, _: Row) -> None:
    host, port = server.addresses[MAIN].removeprefix("http://").split(":")
    body = chat(stream=True, max_tokens=2000, ignore_eos=True, logprobs=True, top_logprobs=20)
    raw = head("POST", load(MAIN).path, {"Authorization": f"Bearer {KEY}", "Content-Length": str(len(body))})
    network = FaultyNetwork(host, int(port), to_client=NetworkFault(silent_after=1))
    with network, connect(network.url) as connection:
        connection.sendall(raw + body)
        assert connection.recv(1) == b"H"
        deadline = time.monotonic() + LIMITS["unread_s"] + SLACK_S
        while server.command("counts")["requests"] > 1 and time.monotonic() < deadline:  # one is the sidecar's
            time.sleep(0.05)
        assert server.command("counts")["requests"] <= 1
    assert get(f"{server.addresses[MAIN]}/health").status == 200
