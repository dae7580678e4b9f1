"""HTTP around the endpoint: methods, paths, header fields, the list of models, connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from reference_server.faults.decorators import around, fault
from reference_server.faults.hooks import Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Head, Told

    Ask = Callable[[Scope, Receive, Send], Awaitable[None]]

PAGE = b"<html><body>It works!</body></html>"


def _instead(app: ASGIApp, hit: Callable[[Scope], bool], reply: Reply) -> Ask:
    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        await (reply if hit(scope) else app)(scope, receive, send)

    return ask


def _with_headers(app: ASGIApp, edit: Callable[[Scope, list[tuple[bytes, bytes]]], list[tuple[bytes, bytes]]]) -> Ask:
    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": edit(scope, list(message["headers"]))}
            await send(message)

        await app(scope, receive, sent)

    return ask


@around("unknown-path-200")
def unknown_path_is_answered(app: ASGIApp, contract: Contract) -> Ask:
    """Every path is answered with a page."""
    known = (contract.path, contract.models_path, "/openapi.json")
    return _instead(app, lambda scope: scope["path"] not in known, Reply(200, PAGE, "text/html"))


@around("get-answered")
def get_is_answered(app: ASGIApp, contract: Contract) -> Ask:
    """GET on the chat endpoint is answered with a page."""
    hit = lambda scope: scope["path"] == contract.path and scope["method"] == "GET"  # noqa: E731
    return _instead(app, hit, Reply(200, PAGE, "text/html"))


@around("get-500")
def get_is_500(app: ASGIApp, contract: Contract) -> Ask:
    """GET on the chat endpoint gets a 500."""
    hit = lambda scope: scope["path"] == contract.path and scope["method"] == "GET"  # noqa: E731
    return _instead(app, hit, Reply(500, b"{}"))


@around("allow-missing")
def allow_is_missing(app: ASGIApp, _contract: Contract) -> Ask:
    """A 405 does not name the allowed methods."""
    return _with_headers(app, lambda _scope, headers: [pair for pair in headers if pair[0].lower() != b"allow"])


@around("head-500")
def head_is_500(app: ASGIApp, contract: Contract) -> Ask:
    """HEAD on the list of models gets a 500."""
    hit = lambda scope: scope["path"] == contract.models_path and scope["method"] == "HEAD"  # noqa: E731
    return _instead(app, hit, Reply(500, b""))


@around("models-not-listed")
def models_are_not_listed(app: ASGIApp, contract: Contract) -> Ask:
    """The list of models is empty."""
    empty = Reply(200, orjson.dumps({"object": "list", "data": []}))
    return _instead(app, lambda scope: scope["path"] == contract.models_path, empty)


@around("models-bare-list")
def models_are_a_bare_list(app: ASGIApp, contract: Contract) -> Ask:
    """The list of models stands without its envelope."""
    return _instead(app, lambda scope: scope["path"] == contract.models_path, Reply(200, b'["mindie"]'))


@fault("types-as-text", "head")
def types_are_text(head: Head, _told: Told) -> None:
    """Plain answers are sent as text/plain."""
    if not head.streams:
        head.headers["content-type"] = "text/plain"


@fault("types-missing", "head")
def types_are_missing(head: Head, _told: Told) -> None:
    """Nothing says its content type."""
    head.headers.pop("content-type", None)


@fault("charset-latin", "head")
def charset_is_latin(head: Head, _told: Told) -> None:
    """Content types name a charset that JSON does not have."""
    head.headers["content-type"] = head.headers.get("content-type", "").partition(";")[0] + "; charset=iso-8859-1"


@fault("cached-for-all", "head")
def answers_are_cached(head: Head, _told: Told) -> None:
    """Answers may be kept by caches and given to others."""
    head.headers["cache-control"] = "public, max-age=3600"


@fault("says-gzip", "head")
def says_gzip(head: Head, _told: Told) -> None:
    """Bodies are said to be compressed, though nobody asked for it."""
    head.headers["content-encoding"] = "gzip"


@fault("streams-with-length", "body")
def streams_with_length(body: bytes, _told: Told) -> bytes:
    """A stream is made whole first, and sent with its length."""
    return body


@around("date-of-old")
def date_is_of_old(app: ASGIApp, _contract: Contract) -> Ask:
    """The Date of answers is years old."""

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        cycle: Any = getattr(send, "__self__", None)
        if cycle is not None:  # uvicorn's own, which adds a date to every answer
            cycle.default_headers = [(b"date", b"Thu, 01 Jan 2015 00:00:00 GMT")]
        await app(scope, receive, send)

    return ask


@around("types-twice")
def types_are_sent_twice(app: ASGIApp, _contract: Contract) -> Ask:
    """The content type is sent twice, as a gateway and the server behind it each add it."""
    return _with_headers(app, lambda _scope, headers: [*headers, *(pair for pair in headers if b"type" in pair[0])])


@fault("connection-cut", "request")
def connection_is_cut(told: Told) -> Reply | None:
    """The connection is closed without an answer when a body is malformed or holds a system message."""
    if b'"system"' in told.body:
        return Cut()
    return None


class Cut(Reply):
    """An answer that ends before its time."""

    def __init__(self) -> None:
        super().__init__(200, b"")

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"400")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"id":', "more_body": True})
        raise ConnectionResetError


@around("message-illegal")
def message_is_illegal(app: ASGIApp, contract: Contract) -> Ask:
    """An answer begins with a status line that no client can read."""

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        cycle: Any = getattr(send, "__self__", None)
        if cycle is not None and scope["path"] == contract.path and scope["method"] == "GET":
            cycle.transport.write(b"HTTP/1.1 OK fine\r\nnothing: here\r\n\r\n")
            cycle.transport.close()
        await app(scope, receive, send)

    return ask
