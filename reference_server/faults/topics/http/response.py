"""Faults in the headers of a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import fault, wrapping_fault
from reference_server.faults.http_gate import edit_headers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ResponseHead, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]


@fault("types-missing", "head")
def types_are_missing(head: ResponseHead, _request: ServedRequest) -> None:
    """Responses have no Content-Type."""
    head.headers.pop("content-type", None)


@fault("charset-latin", "head")
def charset_is_latin(head: ResponseHead, _request: ServedRequest) -> None:
    """The Content-Type has an encoding that JSON does not allow."""
    head.headers["content-type"] = head.headers.get("content-type", "").partition(";")[0] + "; charset=iso-8859-1"


@fault("cached-for-all", "head")
def answers_are_cached(head: ResponseHead, _request: ServedRequest) -> None:
    """Answers may be cached and sent to other users."""
    head.headers["cache-control"] = "public, max-age=3600"


@fault("says-gzip", "head")
def says_gzip(head: ResponseHead, _request: ServedRequest) -> None:
    """Content-Encoding is gzip, but the body is not compressed."""
    head.headers["content-encoding"] = "gzip"


@wrapping_fault("date-of-old")
def date_is_of_old(app: ASGIApp, _contract: Contract) -> App:
    """The Date header is years old."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        cycle: Any = getattr(send, "__self__", None)
        if cycle is not None:  # uvicorn's own, which adds a date to every answer
            cycle.default_headers = [(b"date", b"Thu, 01 Jan 2015 00:00:00 GMT")]
        await app(scope, receive, send)

    return serve


@wrapping_fault("types-twice")
def types_are_sent_twice(app: ASGIApp, _contract: Contract) -> App:
    """Content-Type is sent twice, as if a gateway and its upstream each add it."""
    return edit_headers(app, lambda _scope, headers: [*headers, *(pair for pair in headers if b"type" in pair[0])])


@wrapping_fault("message-illegal")
def message_is_illegal(app: ASGIApp, contract: Contract) -> App:
    """An answer begins with an invalid status line."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        cycle: Any = getattr(send, "__self__", None)
        if cycle is not None and scope["path"] == contract.path and scope["method"] == "GET":
            cycle.transport.write(b"HTTP/1.1 OK fine\r\nnothing: here\r\n\r\n")
            cycle.transport.close()
        await app(scope, receive, send)

    return serve
