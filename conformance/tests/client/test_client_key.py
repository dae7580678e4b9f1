"""The API key is sent to its origin only, and is never recorded."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from itertools import count
from typing import TYPE_CHECKING

import pytest

from conformance.client.client import Client
from conformance.client.curl import curl
from conformance.client.secret import REDACTED, Secret, alteration_in
from conformance.tests.raw_server import CHUNKED, KEY, Server, ask, call, part, saying, whole
from openapi.stream.sse import encode

if TYPE_CHECKING:
    from conformance.exchange import Exchange
    from conformance.scenario import Alteration


def test_the_key_is_sent_to_its_origin_only_and_only_if_the_call_wants_it() -> None:
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
def test_an_echoed_key_is_not_recorded(answer: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))  # so that each piece is a separate segment
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


@pytest.mark.parametrize("alteration", ["other-end", "shorter", "longer"])
def test_an_altered_key_is_sent_and_its_beginning_is_not_recorded(alteration: Alteration) -> None:
    async def main() -> tuple[str, Exchange]:
        key = Secret(KEY).altered(alteration)
        async with Server(saying(whole(f"bad key {key}".encode()))) as server:
            async with Client(server.url, secret=Secret(KEY)) as client:
                exchange = await client.send(call(alteration=alteration))
            return server.requests[0][0], exchange

    head, exchange = asyncio.run(main())
    altered = Secret(KEY).altered(alteration)
    assert f"Bearer {altered}\r\n" in f"{head}\r\n"
    assert (KEY != altered, KEY[:-4]) == (True, altered[: len(KEY) - 4])
    assert KEY[:-4] not in json.dumps(exchange.to_dict())
    (shown,) = [value for name, value in exchange.request.headers if name == "Authorization"]
    assert (alteration, f"Bearer {exchange.text.removeprefix('bad key ')}") == (alteration_in(shown), shown)
    made = {"other-end": '"${API_KEY%????}"0000', "shorter": '"${API_KEY%????}"', "longer": '"$API_KEY"0000'}
    assert f"'Authorization: Bearer '{made[alteration]} \\" in curl(exchange)


def test_has_altered_keys_requires_a_key_of_12_characters() -> None:
    secrets = [Secret("12345678"), Secret("123456789012"), None]
    assert [False, True, False] == [Client("http://127.0.0.1", secret).has_altered_keys for secret in secrets]
