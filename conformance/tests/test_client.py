"""The client on real sockets: good servers are recorded faithfully, bad ones become a failure, none an exception."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import socket
import ssl
import struct
import subprocess
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance import recording
from conformance.client import Call, Client
from conformance.errors import HarnessError, UsageError
from conformance.exchange import Exchange, Failure
from conformance.recording import Recording
from conformance.secret import REDACTED, Secret
from openapi.sse import encode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

KEY = "sk-test/+Key=0123456789"
HEADER = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEADER + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNKS = [json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}) for text in "abc"]


def part(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def whole(body: bytes, *, status: str = "200 OK", headers: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


class Server:
    """A server that does what a test tells it, and remembers the heads and bodies of the requests."""

    def __init__(self, handler: Handler, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[tuple[str, bytes]] = []
        self.gone = asyncio.Event()
        self._handler = handler
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Server:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next((line.split(":")[1] for line in head.split("\r\n") if line.startswith("Content-Length")), "0")
            self.requests.append((head, await reader.readexactly(int(length))))
            await self._handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone.set()
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()


def saying(*data: bytes) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in data:
            writer.write(piece)
            await writer.drain()

    return handle


def call(url: str = "/v1/chat", **others: Any) -> Call:
    others = {"method": "POST", "body": b'{"a": 1}', "deadline_s": 30.0, **others}
    return Call(id="c-1", scenario="c", step="main", url=url, **others)


def ask(handler: Handler, *, tls: ssl.SSLContext | None = None, **others: Any) -> Exchange:
    """One call to a server that handles it so. `others` go to the client (`secret`, ...) or the call."""
    own = {name: others.pop(name) for name in ("secret", "verify", "max_body_bytes") if name in others}
    own.setdefault("verify", False)  # reading the authorities takes longer than most tests

    async def main() -> Exchange:
        async with Server(handler, tls) as server, Client(server.url, **own) as client:
            return await client.send(call(**others))

    return asyncio.run(main())


def test_a_plain_answer_is_recorded_as_it_came() -> None:
    body = '{"x": "你好"}'.encode()
    exchange = ask(
        saying(whole(body, status="207 Fine Thing", headers="X-One: 1\r\nx-ONE: \xff\r\nContent-Type: a/b\r\n"))
    )
    response = exchange.response
    assert response is not None
    assert (response.status, response.reason, response.http_version) == (207, "Fine Thing", "HTTP/1.1")
    assert ("X-One", "1") in response.headers
    assert exchange.body == body
    assert exchange.failure is None
    assert exchange.complete
    assert 0 <= response.headers_at_s <= response.segments[0].at_s <= response.ended_at_s
    assert (exchange.id, exchange.scenario, exchange.step) == ("c-1", "c", "main")
    assert exchange.started_at.endswith("+00:00")
    assert Exchange.from_dict(exchange.to_dict()) == exchange


def test_the_request_is_recorded_as_it_was_sent() -> None:
    async def main() -> None:
        async with Server(saying(whole(b""))) as server, Client(server.url + "/base/", secret=Secret(KEY)) as client:
            exchange = await client.send(
                call("/v1/x?q=1", headers={"Content-Type": "application/json", "accept": "b/c"})
            )
            head, body = server.requests[0]
            assert body == b'{"a": 1}' == exchange.request.body
            assert exchange.request.url == f"{server.url}/base/v1/x?q=1"
            lines = [f"{name}: {value}" for name, value in exchange.request.headers]
            assert head.replace(KEY, REDACTED).split("\r\n")[:-2] == ["POST /base/v1/x?q=1 HTTP/1.1", *lines]
            assert "Authorization: Bearer " + REDACTED in lines
            assert "Accept-Encoding: identity" in lines
            assert [line for line in lines if line.lower().startswith("accept:")] == ["accept: b/c"]

    asyncio.run(main())


def test_nothing_is_added_to_a_request_without_a_body_but_its_length() -> None:
    async def main() -> None:
        async with Server(saying(whole(b""))) as server, Client(server.url) as client:
            await client.send(call(method="GET", body=b""))
            await client.send(call(method="POST", body=b""))
            names = [[line.split(":")[0] for line in head.split("\r\n")[1:-2]] for head, _ in server.requests]
            assert names[0] == ["Host", "Accept", "Accept-Encoding", "User-Agent"]
            assert sorted(names[1]) == sorted([*names[0], "Content-Length"])

    asyncio.run(main())


def test_each_event_has_the_time_at_which_it_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    events = [encode(data) for data in [*CHUNKS, "[DONE]"]]
    exchange = ask(saying(CHUNKED, *map(part, events), b"0\r\n\r\n"))
    assert exchange.response is not None
    # One tick at the start, one for the headers, one for each segment, one at the end.
    assert exchange.response.headers_at_s == 1.0
    assert [event.at_s for event in exchange.events] == [2.0, 3.0, 4.0, 5.0]
    assert [segment.data for segment in exchange.response.segments] == events
    assert exchange.response.ended_at_s == 6.0
    assert exchange.content() == "abc"


def test_pieces_that_arrive_together_are_one_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", lambda: 5.0)
    exchange = ask(saying(CHUNKED + b"".join(part(bytes([byte])) for byte in b"data: x\n\n") + b"0\r\n\r\n"))
    assert exchange.response is not None
    assert [segment.data for segment in exchange.response.segments] == [b"data: x\n\n"]


def heard(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """An event that is set once the client has recorded something of a body."""
    event = asyncio.Event()
    add = Recording.add

    def note(self: Any, piece: bytes) -> None:
        add(self, piece)
        event.set()

    monkeypatch.setattr(Recording, "add", note)
    return event


def test_a_reset_in_the_middle_keeps_what_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = heard(monkeypatch)

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


def test_a_drip_without_end_stops_at_the_deadline() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        while True:
            writer.write(part(b"d"))
            await writer.drain()
            await asyncio.sleep(0.001)

    exchange = ask(handle, deadline_s=0.3)
    assert exchange.failure == Failure("timeout", "no complete answer within 0.3 s")
    assert not exchange.complete


def test_silence_stops_at_the_deadline() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    exchange = ask(handle, deadline_s=0.05)
    assert exchange.failure == Failure("timeout", "no complete answer within 0.05 s")
    assert exchange.response is None


def test_a_line_without_end_stops_at_the_byte_limit() -> None:
    limit = 300_000
    gibibyte = 2**30
    sent = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(HEADER + b"\r\ndata: ")
        while sent < gibibyte:
            writer.write(b"x" * 65_536)
            await writer.drain()
            sent += 65_536

    exchange = ask(handle, max_body_bytes=limit)
    assert exchange.failure == Failure("too-large", f"the body is longer than {limit} bytes; the rest was not read")
    assert exchange.body == b"data: " + b"x" * (limit - 6)
    assert sent < gibibyte // 10


def test_a_body_of_exactly_the_limit_is_complete() -> None:
    exchange = ask(saying(whole(b"x" * 1000)), max_body_bytes=1000)
    assert exchange.complete
    assert len(exchange.body) == 1000


def test_a_body_in_too_many_pieces_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setattr(recording, "MAX_SEGMENTS", 10)
    exchange = ask(saying(CHUNKED + part(b"x") * 1000))
    assert exchange.failure is not None
    assert exchange.failure.kind == "too-large"
    assert len(exchange.body) == 10


def test_a_packed_body_is_not_unpacked() -> None:
    body = b"\x1f\x8b\x08\x00" + bytes(50)
    exchange = ask(saying(whole(body, headers="Content-Encoding: gzip\r\n")))
    assert exchange.body == body
    assert "identity was asked for" in exchange.json_error


def test_what_goes_wrong_after_the_end_changes_nothing() -> None:
    ended = Recording(max_body_bytes=9)
    ended.complete = True
    ended.fail("reset", "while closing")
    assert ended.failure is None
    left = Recording(max_body_bytes=9)
    left.fail("too-large", "first")
    left.fail("timeout", "then")
    assert left.failure == Failure("too-large", "first")


@pytest.mark.parametrize("after", [0, 1, 2])
def test_we_leave_after_as_many_events_as_asked_and_the_server_notices(after: int) -> None:
    async def main() -> Exchange:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(CHUNKED)
            for data in CHUNKS[:after]:
                writer.write(part(encode(data)))
            assert await reader.read() == b""
            server.gone.set()

        async with Server(handle) as server, Client(server.url) as client:
            exchange = await client.send(call(stop_after_events=after))
            await server.gone.wait()
            return exchange

    exchange = asyncio.run(main())
    assert exchange.failure == Failure("disconnected-by-us", f"we left on purpose after {after} events")
    assert len(exchange.events) == after
    assert not exchange.complete


def test_a_stream_that_ends_before_we_would_leave_is_complete() -> None:
    exchange = ask(saying(CHUNKED, part(encode(CHUNKS[0])), b"0\r\n\r\n"), stop_after_events=2)
    assert (exchange.complete, exchange.failure) == (True, None)


@pytest.mark.parametrize("target", ["{other}/v1", "//127.0.0.1:1/", "http://[bad", "\x80"])
def test_a_redirect_is_recorded_and_not_followed(target: str) -> None:
    async def main() -> None:
        async with Server(saying(whole(b"no"))) as other:
            location = f"Location: {target.format(other=other.url)}\r\n"
            answer = whole(b"", status="307 Temporary Redirect", headers=location)
            async with Server(saying(answer)) as server, Client(server.url, secret=Secret(KEY)) as client:
                exchange = await client.send(call())
                assert (exchange.status, exchange.complete, exchange.failure) == (307, True, None)
                assert len(server.requests) == 1
            assert other.requests == []

    asyncio.run(main())


def test_the_key_goes_to_its_origin_only_and_only_where_it_is_wanted() -> None:
    async def main() -> None:
        async with Server(saying(whole(b""))) as server, Server(saying(whole(b""))) as other:
            async with Client(server.url, secret=Secret(KEY)) as client:
                await client.send(call())
                await client.send(call(with_key=False))
                await client.send(call(headers={"authorization": "Bearer wrong"}))
                await client.send(call(server.url + "/absolute"))
                await client.send(call(other.url + "/v1"))
            sent = [
                [line.partition(": ")[2] for line in head.split("\r\n") if line.lower().startswith("authorization")]
                for head, _ in server.requests
            ]
            assert sent == [[f"Bearer {KEY}"], [], ["Bearer wrong"], [f"Bearer {KEY}"]]
            assert "authorization" not in other.requests[0][0].lower()

    asyncio.run(main())


def test_nothing_of_one_exchange_reaches_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    poisoned = whole(b"a", headers="Set-Cookie: a=b\r\n") + whole(b"from the answer before")

    async def main() -> list[Exchange]:
        async with Server(saying(poisoned)) as server, Client(server.url) as client:
            exchanges = [await client.send(call()) for _ in range(2)]
            assert "cookie" not in server.requests[1][0].lower()
            return exchanges

    assert [exchange.body for exchange in asyncio.run(main())] == [b"a", b"a"]


def test_each_exchange_has_a_connection_of_its_own() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(whole(b""))
        await reader.readuntil(b"\r\n\r\n")
        raise AssertionError("a second request on the same connection")

    async def main() -> int:
        async with Server(handle) as server, Client(server.url) as client:
            for _ in range(3):
                await client.send(call(body=b""))
            return len(server.requests)

    assert asyncio.run(main()) == 3


@pytest.mark.parametrize(("line", "expected"), [(None, 2), ("a", 1)])
def test_calls_of_one_line_share_a_connection(line: str | None, expected: int) -> None:
    opened = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        writer.write(whole(b""))
        await reader.readuntil(b"\r\n\r\n")
        writer.write(whole(b""))

    async def main() -> list[int | None]:
        async with Server(handle) as server, Client(server.url) as client:
            return [(await client.send(call(body=b"", line=line))).status for _ in range(2)]

    assert [200, 200] == asyncio.run(main())
    assert expected == opened


def test_a_body_in_chunks_states_no_length() -> None:
    heads: list[str] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"0\r\n\r\n")).decode())
        writer.write(whole(b""))

    async def main() -> str:
        async with Server(handle) as server, Client(server.url) as client:
            await client.send(call(body=b"Hello!", headers={"Transfer-Encoding": "chunked"}))
            return server.requests[0][0].lower()

    head = asyncio.run(main())
    assert "transfer-encoding: chunked" in head
    assert "content-length" not in head
    assert heads == ["6\r\nHello!\r\n0\r\n\r\n"]


ECHOED = {
    "body": [whole(f'{{"error": "bad key {KEY}"}}'.encode())],
    "header": [whole(b"{}", headers=f"X-Key: Bearer {KEY}\r\n")],
    "reason": [whole(b"{}", status=f"401 {KEY}")],
    "base64": [whole(base64.b64encode(f"user:{KEY}".encode()))],
    "segments": [CHUNKED, *(part(bytes([byte])) for byte in f"data: {KEY}\n\n".encode()), b"0\r\n\r\n"],
    "deltas": [
        CHUNKED,
        *(part(encode(json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}))) for text in KEY),
        b"0\r\n\r\n",
    ],
}


@pytest.mark.parametrize("answer", ECHOED.values(), ids=ECHOED)
def test_an_echoed_key_is_in_no_record(answer: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))  # every piece a segment of its own
    exchange = ask(saying(*answer), secret=Secret(KEY), body=f'{{"user": "{KEY}"}}'.encode(), url=f"/v1?key={KEY}")
    record = json.dumps(exchange.to_dict())
    assert exchange.complete
    assert KEY not in record
    assert KEY not in repr(exchange)
    assert KEY not in exchange.text
    assert KEY not in (exchange.content() or "")
    assert base64.b64encode(KEY.encode()).decode()[:-4] not in record
    assert record.count(REDACTED) >= 4  # header, URL and body of the request, and the answer
    assert REDACTED in exchange.text or REDACTED in record[record.index('"response"') :]


def test_a_failure_does_not_show_the_key() -> None:
    exchange = ask(saying(f"HTTP/1.1 {KEY}\r\n\r\n".encode()), secret=Secret(KEY))
    assert exchange.failure is not None
    assert KEY not in exchange.failure.detail


BROKEN = {
    "nothing": ([b""], "protocol"),
    "no HTTP": ([b"SSH-2.0-OpenSSH\r\n\r\n"], "protocol"),
    "a bad status": ([b"HTTP/1.1 two hundred\r\n\r\n"], "protocol"),
    "half a header": ([b"HTTP/1.1 200 OK\r\nContent-"], "protocol"),
    "a short body": ([b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"], "protocol"),
    "a stream that is cut": ([CHUNKED, part(b"data: x\n\n")], "protocol"),
    "a bad chunk": ([CHUNKED, b"zz\r\n"], "protocol"),
    "two lengths": ([b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"], "protocol"),
    "200,000 headers": ([b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 200_000, b"\r\n"], "too-large"),
    "a header of 1 MB": ([b"HTTP/1.1 200 OK\r\nX: ", b"y" * 10**6, b"\r\n\r\n"], "too-large"),
}


@pytest.mark.parametrize(("answer", "kind"), BROKEN.values(), ids=BROKEN)
def test_broken_http_is_a_failure_with_one_plain_line(answer: list[bytes], kind: str) -> None:
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
def test_no_answer_makes_it_raise(pieces: list[bytes]) -> None:
    exchange = ask(saying(b"".join(pieces)), secret=Secret(KEY))
    assert exchange.failure is not None or exchange.response is not None
    assert Exchange.from_dict(json.loads(json.dumps(exchange.to_dict()))) == exchange


def test_a_refused_connection_is_told_from_an_unknown_host(monkeypatch: pytest.MonkeyPatch) -> None:
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


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, Path]:
    """A server's TLS context with a certificate that it signed itself, and the certificate."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={name}", "-keyout", key, "-out", cert),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context, cert


def test_a_certificate_is_trusted_only_by_who_was_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tls, cert = certificate(tmp_path, "IP:127.0.0.1")
    answer = saying(whole(b"{}"))
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))  # the environment is not who tells us
    refused = ask(answer, tls=tls, verify=True)
    assert refused.failure is not None
    assert refused.failure.kind == "tls"
    assert "is not trusted: self-signed certificate" in refused.failure.detail
    assert refused.response is None
    assert ask(answer, tls=tls, verify=False).status == 200
    assert ask(answer, tls=tls, verify=ssl.create_default_context(cafile=cert)).status == 200


def test_a_certificate_for_another_host_is_not_trusted(tmp_path: Path) -> None:
    tls, cert = certificate(tmp_path, "DNS:elsewhere.invalid")
    failure = ask(saying(whole(b"{}")), tls=tls, verify=ssl.create_default_context(cafile=cert)).failure
    assert failure is not None
    assert failure.kind == "tls"
    assert "not valid for '127.0.0.1'" in failure.detail


def test_https_to_a_server_without_tls_is_a_failure_of_tls() -> None:
    async def main() -> Exchange:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        async with server, Client(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}") as client:
            return await client.send(call())

    failure = asyncio.run(main()).failure
    assert failure is not None
    assert failure.kind == "tls"
    assert failure.detail.startswith("no TLS with 127.0.0.1:")


def test_no_more_calls_run_at_once_than_there_are_connections() -> None:
    running = most = 0

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(20):
            await asyncio.sleep(0)
        running -= 1
        writer.write(whole(b""))

    async def main() -> None:
        async with Server(handle) as server, Client(server.url, connections=2) as client:
            await asyncio.gather(*(client.send(call()) for _ in range(8)))

    asyncio.run(main())
    assert most <= 2


@pytest.mark.parametrize("url", ["", "host:80", "ftp://h", "http://", "http://u:p@h", "http://h:port", "http://[::1"])
def test_a_url_that_cannot_be_called_is_the_users_mistake(url: str) -> None:
    with pytest.raises(UsageError):
        Client(url)


@pytest.mark.parametrize(
    "wrong", [{"headers": {"X": "a\nb"}}, {"headers": {"X": "é\u4f60"}}, {"headers": {"": "x"}}, {"method": "PO ST"}]
)
def test_a_call_that_cannot_be_sent_is_our_mistake(wrong: dict[str, Any]) -> None:
    with pytest.raises(HarnessError, match="call c-1 cannot be sent"):
        ask(saying(whole(b"")), **wrong)
