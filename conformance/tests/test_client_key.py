"""The key goes to whom it is for, and into no record."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from itertools import count

import pytest

from conformance.client import Client
from conformance.secret import REDACTED, Secret
from conformance.tests.raw_server import CHUNKED, KEY, Server, ask, call, part, saying, whole
from openapi.sse import encode


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
