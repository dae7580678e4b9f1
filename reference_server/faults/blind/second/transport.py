"""Blind faults of HTTP: lengths, content encodings, headers and the lines of streams."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import hooked_fault, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.hooks import CannedResponse
from reference_server.faults.http_gate import header_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGE_HEADERS: Final = 4_096  # bytes
PAGE: Final = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
WAITING: Final = b"data: : PROCESSING\n\n"


def _cut_to_characters(body: bytes, _request: ServedRequest) -> bytes:
    return body[: len(body.decode(errors="replace"))]


def _waiting(frame: bytes, request: ServedRequest) -> Iterable[bytes]:
    return (WAITING, frame) if request.event_index == 0 else (frame,)


lengths_count_characters = hooked_fault(
    "lengths-count-characters",
    "Content-Length counts characters, so that a plain answer with non-ASCII characters is cut.",
    plain=_cut_to_characters,
)
comments_become_data = hooked_fault(
    "comments-become-data",
    "A gateway turns the comment in front of the first event into an event.",
    event=_waiting,
)


def _recoding(app: ASGIApp, *, told: bool, compressed: bool) -> App:
    """Give refusals a content encoding, or the body of one, for clients that accept gzip."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        starts: list[Message] = []

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                starts.append(message)
            elif not starts:
                await send(message)
            else:
                body: bytes = message.get("body", b"")
                body = gzip.compress(body) if compressed else body
                kept = [pair for pair in starts[0]["headers"] if pair[0] != b"content-length"]
                added = [(b"content-length", str(len(body)).encode())]
                added += [(b"content-encoding", b"gzip")] if told else []
                await send({**starts[0], "headers": [*kept, *added]})
                await send({"type": "http.response.body", "body": body})

        accepted = scope["type"] == "http" and b"gzip" in header_of(scope, b"accept-encoding")
        await app(scope, receive, sent if accepted else send)

    return serve


@wrapping_fault("refusals-claim-gzip")
def refusals_claim_gzip(app: ASGIApp, _contract: Contract) -> App:
    """For clients that accept gzip, refusals have Content-Encoding gzip, but are not compressed."""
    return _recoding(app, told=True, compressed=False)


@wrapping_fault("refusals-compressed-untold")
def refusals_are_compressed_untold(app: ASGIApp, _contract: Contract) -> App:
    """For clients that accept gzip, refusals are compressed, but have no Content-Encoding."""
    return _recoding(app, told=False, compressed=True)


@wrapping_fault("large-headers-get-502")
def large_headers_get_502(app: ASGIApp, contract: Contract) -> App:
    """A request with more than 4 KB of headers gets a 502 with an HTML page."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        large = sum(len(name) + len(value) for name, value in scope.get("headers", ())) > LARGE_HEADERS
        page = CannedResponse(502, PAGE, "text/html")
        await (page if large and is_chat_request(scope, contract) else app)(scope, receive, send)

    return serve
