"""Apply the variations of the reference server to recorded exchanges.

An ASGI application replays the recorded response, wrapped with the variation as the reference server wraps its own
application. Nothing is sent over a network, and nothing waits.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from unittest.mock import patch
from urllib.parse import urlsplit

from conformance.client.content_coding import decoder_for
from conformance.exchange import Segment
from reference_server.faults.registry import gather_faults

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from conformance.client.content_coding import ContentDecoder
    from conformance.exchange import Exchange, Response
    from conformance.proof.recorded_run import Exchanges
    from conformance.tests.conftest import Good
    from reference_server.faults.fault import Fault

TIMING: Final = frozenset({"slow-tokens", "slow-first-token"})
"""Variations that change only arrival times, which a replay keeps."""
MAX_BODY: Final = 2**24
VARIATIONS: Final[dict[str, Fault]] = {
    fault.name: fault
    for fault in gather_faults().values()
    if fault.benign and fault.affects != "sampling" and fault.name not in TIMING
}
"""Those that a replay shows: not how tokens are sampled."""


class Replay:
    """An application that sends one recorded response, and collects what a variation makes of it.

    Everything that the variation sends gets the arrival time of the recorded segment that was being replayed. A
    response of the variation's own gets the recorded date, which the HTTP server below the application adds.
    """

    def __init__(self, exchange: Exchange, response: Response) -> None:
        self.exchange = exchange
        self._response = response
        self._status = response.status
        self._headers = response.headers
        self._segments: list[Segment] = []
        self._at_s = response.headers_at_s
        self._decoder: ContentDecoder | None = None

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self._response.headers]
        await send({"type": "http.response.start", "status": self._response.status, "headers": headers})
        *segments, last = self._response.segments or (Segment(self._response.ended_at_s, b""),)
        for segment in segments:
            self._at_s = segment.at_s
            await send({"type": "http.response.body", "body": segment.data, "more_body": True})
        self._at_s = last.at_s
        await send({"type": "http.response.body", "body": last.data})

    @property
    def scope(self) -> Scope:
        """The scope of the recorded request."""
        request = self.exchange.request
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in request.headers]
        return {"type": "http", "method": request.method, "path": urlsplit(request.url).path, "headers": headers}

    async def receive(self) -> Message:
        """Return the body of the recorded request."""
        return {"type": "http.request", "body": self.exchange.request.body, "more_body": False}

    async def collect(self, message: Message) -> None:
        """Add a message to the new response."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = tuple(
                (name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"]
            )
            if not any(name.lower() == "date" for name, _value in self._headers):
                self._headers += tuple(pair for pair in self._response.headers if pair[0].lower() == "date")
            coded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self._headers]
            self._decoder = decoder_for(coded, self.scope["headers"])
        elif piece := self._decode(message["body"]):
            self._segments.append(Segment(self._at_s, piece))

    def _decode(self, piece: bytes) -> bytes:
        return piece if self._decoder is None else self._decoder.feed(piece, MAX_BODY)

    @property
    def replayed(self) -> Exchange:
        """The exchange with the new response; the recorded exchange itself if the response is the same."""
        response = replace(self._response, status=self._status, headers=self._headers, segments=tuple(self._segments))
        return self.exchange if response == self._response else replace(self.exchange, response=response)


def replay(good: Good, variation: Fault) -> Exchanges:
    """Return the exchanges of a recorded run as a server with the variation would have answered them."""
    with patch.object(asyncio, "sleep", _skip):
        return asyncio.run(_replay_all(good, variation))


async def _replay_all(good: Good, variation: Fault) -> Exchanges:
    return {key: await _replay_one(good, variation, exchange) for key, exchange in good.exchanges.items()}


async def _replay_one(good: Good, variation: Fault, exchange: Exchange) -> Exchange:
    if exchange.response is None or exchange.failure is not None:
        return exchange
    recorded = Replay(exchange, exchange.response)
    await variation.wrap_app(recorded, good.contract)(recorded.scope, recorded.receive, recorded.collect)
    return recorded.replayed


async def _skip(_delay_s: float) -> None:
    """Return at once, instead of `asyncio.sleep`."""
