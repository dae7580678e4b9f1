"""Variations of HTTP and of streams: headers, content encodings, segments, comments and pauses."""

from __future__ import annotations

import asyncio
import itertools
import zlib
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import per_server
from reference_server.faults.decorators import variation, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.hooks import DATA, CannedResponse, Hooks
from reference_server.faults.http_gate import header_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import ResponseHead, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

PING: Final = b": OPENROUTER PROCESSING\n\n"
PINGS: Final = 3
PING_S: Final = 0.25
PADDING: Final = b":" + b" " * 2_048 + b"\n\n"
PIECE: Final = 32  # bytes
WAIT_S: Final = 0.7
SPEEDS_S: Final = (0.0, 0.03, 0.09)
KEPT: Final = 10  # requests for each connection
RATES: Final = {
    "x-ratelimit-limit-requests": "14400",
    "x-ratelimit-remaining-requests": "14399",
    "x-ratelimit-reset-requests": "6s",
    "x-ratelimit-limit-tokens": "7000",
    "x-ratelimit-remaining-tokens": "6818",
    "x-ratelimit-reset-tokens": "1.559999999s",
}
EDGE: Final = {
    "server": "cloudflare",
    "cf-ray": "8f2c1d3e4b5a6978-FRA",
    "cf-cache-status": "DYNAMIC",
    "set-cookie": "__cf_bm=a1b2c3; path=/; HttpOnly; Secure; SameSite=None",
    "strict-transport-security": "max-age=31536000; includeSubDomains; preload",
    "alt-svc": 'h3=":443"; ma=86400',
}
TRACE: Final = {
    "x-request-id": "req_01hwe17kc9efg93xtwk30d5tx4",
    "server-timing": 'queue;dur=1.2, prefill;desc="prompt";dur=8',
    "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "x-accel-buffering": "no",
}


def _headed(name: str, line: str, headers: dict[str, str]) -> Fault:
    return variation(name, line, head=lambda head, _request: head.headers.update(headers), everywhere=True)


rate_limits_stated = _headed("rate-limits-stated", "Headers state the limits of requests and tokens.", RATES)
edge_headers = _headed("edge-headers", "A content delivery network adds its headers and a cookie.", EDGE)
traced_requests = _headed("traced-requests", "Headers identify the request and state its timings.", TRACE)


def _close_tenth() -> Hooks:
    numbers = itertools.count(1)

    def change(head: ResponseHead, _request: ServedRequest) -> None:
        if next(numbers) % KEPT == 0:
            head.headers["connection"] = "close"

    return Hooks(head=change, everywhere=True)


tenth_closes = per_server(
    "tenth-closes", "Every tenth response closes its connection.", _close_tenth, benign=True, affects="anywhere"
)


async def _ping_first(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    if not request.state.get("pinged"):
        request.state["pinged"] = True
        for _ in range(PINGS):
            yield PING
            await asyncio.sleep(PING_S)
    yield body


def _pad_first(frame: bytes, request: ServedRequest) -> Iterable[bytes]:
    return (PADDING, frame) if request.event_index == 0 else (frame,)


def _add_field(frame: bytes, _request: ServedRequest) -> Iterable[bytes]:
    return [b"x-trace: 7f3a\n" + frame if frame.startswith(DATA) else frame]


async def _unevenly(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    request.state["sent"] = sent = request.state.get("sent", 0) + 1
    await asyncio.sleep(SPEEDS_S[sent % len(SPEEDS_S)])
    yield body


pings_while_waiting = variation(
    "pings-while-waiting",
    "Comments keep the connection open until the first token, for 0.75 s.",
    pieces=_ping_first,
)
padding_first = variation("padding-first", "A comment of 2 KB precedes the first event.", event=_pad_first)
unknown_event_fields = variation(
    "unknown-event-fields", "Events have a field that the standard does not define.", event=_add_field
)
uneven_speed = variation("uneven-speed", "Up to 90 ms pass between two tokens.", pieces=_unevenly)


@wrapping_fault("bodies-in-small-pieces", benign=True)
def bodies_in_small_pieces(app: ASGIApp, contract: Contract) -> App:
    """Plain answers and refusals are sent in pieces of 32 bytes."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            body = message.get("body", b"")
            if message["type"] == "http.response.body" and not message.get("more_body") and body.startswith(b"{"):
                for start in range(0, len(body) - PIECE, PIECE):
                    await send({**message, "body": body[start : start + PIECE], "more_body": True})
                    await asyncio.sleep(0)
                message = {**message, "body": body[(max(len(body) - 1, 0) // PIECE) * PIECE :]}
            await send(message)

        await app(scope, receive, sent if is_chat_request(scope, contract) else send)

    return serve


def _delaying(app: ASGIApp, contract: Contract, is_late: Callable[[Message], bool]) -> App:
    """Wait before the messages of a chat response for which a condition holds."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and is_late(message):
                await asyncio.sleep(WAIT_S)
            await send(message)

        await app(scope, receive, sent if is_chat_request(scope, contract) else send)

    return serve


@wrapping_fault("refusals-take-time", benign=True)
def refusals_take_time(app: ASGIApp, contract: Contract) -> App:
    """Refusals wait 0.7 s."""
    return _delaying(app, contract, lambda start: bool(start["status"] >= 400))


@wrapping_fault("heads-early", benign=True)
def heads_are_early(app: ASGIApp, contract: Contract) -> App:
    """The head of a response is sent 0.7 s before its body."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.start":
                await asyncio.sleep(WAIT_S)

        await app(scope, receive, sent if is_chat_request(scope, contract) else send)

    return serve


@wrapping_fault("deflate-as-asked", benign=True)
def deflate_as_asked(app: ASGIApp, contract: Contract) -> App:
    """Plain answers are compressed with deflate for clients that accept it."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        starts: list[Message] = []

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                kind: bytes = dict(message["headers"]).get(b"content-type", b"")
                if kind.startswith(b"application/json"):
                    starts.append(message)
                    return
            elif starts:
                body = zlib.compress(message.get("body", b""))
                kept = [pair for pair in starts[0]["headers"] if pair[0] != b"content-length"]
                added = [(b"content-length", str(len(body)).encode()), (b"content-encoding", b"deflate")]
                await send({**starts[0], "headers": [*kept, *added, (b"vary", b"accept-encoding")]})
                message = {**message, "body": body}
            await send(message)

        accepted = b"deflate" in header_of(scope, b"accept-encoding")
        await app(scope, receive, sent if is_chat_request(scope, contract) and accepted else send)

    return serve


@wrapping_fault("not-found-with-detail", benign=True)
def not_found_with_detail(app: ASGIApp, contract: Contract) -> App:
    """A path that no document mentions gets a 404 with only a detail."""
    known = (contract.path, contract.models_path)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        missing = [False]

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                missing[0] = message["status"] == 404
            if not missing[0]:
                await send(message)

        mentioned = scope["type"] != "http" or scope["path"].startswith(known)
        await app(scope, receive, send if mentioned else sent)
        if missing[0]:
            await CannedResponse(404, b'{"detail":"Not Found"}')(scope, receive, send)

    return serve
