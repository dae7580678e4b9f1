"""Faults in how the server reads the headers and the body of a request."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import orjson

from reference_server.faults.decorators import requires_check, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.hooks import DONE, CannedResponse
from reference_server.faults.http_gate import chat_requests, header_of, refuse_matching

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_HEADERS: Final = 50
LONGEST_VALUE: Final = 2048  # bytes
MEGABYTE: Final = 2**20
REMEMBERED_S: Final = 1.0


@wrapping_fault("charset-refused")
def charset_is_refused(app: ASGIApp, contract: Contract) -> App:
    """`application/json; charset=utf-8` is refused with 415."""
    return refuse_matching(app, contract, lambda scope: b"charset" in header_of(scope, b"content-type").lower(), 415)


@wrapping_fault("chunked-bodies-lost")
def chunked_bodies_are_lost(app: ASGIApp, contract: Contract) -> App:
    """A body with chunked transfer encoding is treated as empty."""
    return refuse_matching(app, contract, lambda scope: bool(header_of(scope, b"transfer-encoding")), 400)


@wrapping_fault("offers-of-http2-lose-the-body", bugs=[140])
def offers_of_http2_lose_the_body(app: ASGIApp, contract: Contract) -> App:
    """The body of a request that offers HTTP/2 is lost."""
    return refuse_matching(app, contract, lambda scope: bool(header_of(scope, b"http2-settings")), 400)


@wrapping_fault("expectations-refused")
def expectations_are_refused(app: ASGIApp, contract: Contract) -> App:
    """`Expect: 100-continue` is refused with 400."""
    return refuse_matching(app, contract, lambda scope: bool(header_of(scope, b"expect")), 400)


def _with_stream(app: ASGIApp, contract: Contract, accepted: bytes, *, stream: bool) -> App:
    """Let the Accept header decide whether an answer is streamed."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not chat_requests(contract)(scope) or accepted not in header_of(scope, b"accept"):
            await app(scope, receive, send)
            return
        message = await receive()
        try:
            body = orjson.dumps({**orjson.loads(message["body"]), "stream": stream})
        except (orjson.JSONDecodeError, TypeError):
            body = message["body"]
        rest: list[Message] = [{**message, "body": body}]

        async def again() -> Message:
            return rest.pop() if rest else await receive()

        headers = [pair for pair in scope["headers"] if pair[0] != b"content-length"]
        await app({**scope, "headers": headers}, again, send)

    return serve


@wrapping_fault("accept-starts-streams")
def accept_starts_streams(app: ASGIApp, contract: Contract) -> App:
    """`Accept: text/event-stream` turns a plain answer into a stream."""
    return _with_stream(app, contract, b"text/event-stream", stream=True)


@wrapping_fault("accept-ends-streams")
def accept_ends_streams(app: ASGIApp, contract: Contract) -> App:
    """`Accept: application/json` turns a stream into a plain answer."""
    return _with_stream(app, contract, b"application/json", stream=False)


@wrapping_fault("own-clients-only")
def own_clients_only(app: ASGIApp, contract: Contract) -> App:
    """A request with the header fields of OpenAI's client is refused."""
    return refuse_matching(app, contract, lambda scope: bool(header_of(scope, b"x-stainless-lang")), 400)


@wrapping_fault("cookies-refused")
def cookies_are_refused(app: ASGIApp, contract: Contract) -> App:
    """A request with a cookie is refused with 431, as if it were too long."""
    return refuse_matching(app, contract, lambda scope: bool(header_of(scope, b"cookie")), 431)


@wrapping_fault("user-agents-refused")
def user_agents_are_refused(app: ASGIApp, contract: Contract) -> App:
    """A request of curl is refused with 403."""
    return refuse_matching(app, contract, lambda scope: header_of(scope, b"user-agent").startswith(b"curl/"), 403)


@wrapping_fault("traces-refused")
def traces_are_refused(app: ASGIApp, contract: Contract) -> App:
    """A request with a trace of a gateway is refused with 500."""
    return refuse_matching(app, contract, lambda scope: bool(header_of(scope, b"traceparent")), 500)


@wrapping_fault("first-chunk-only")
def first_chunk_only(app: ASGIApp, _contract: Contract) -> App:
    """Only the first chunk of a request body is read."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not header_of(scope, b"transfer-encoding"):
            await app(scope, receive, send)
            return

        async def receive_first() -> Message:
            return {**await receive(), "more_body": False}

        await app(scope, receive_first, send)

    return serve


@wrapping_fault("range-header-refused")
def ranges_are_refused(app: ASGIApp, contract: Contract) -> App:
    """A Range header gets a 416."""
    return refuse_matching(app, contract, lambda scope: bool(header_of(scope, b"range")), 416)


@wrapping_fault("streams-cut-on-close", bugs=[169])
def closing_streams_are_cut(app: ASGIApp, _contract: Contract) -> App:
    """If the client asks to close the connection, the end of a stream is lost."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_first(message: Message) -> None:
            body = message.get("body", b"")
            await send({**message, "body": b""} if body.endswith(DONE) else message)

        closing = header_of(scope, b"connection").lower() == b"close"
        await app(scope, receive, send_first if closing else send)

    return serve


@wrapping_fault("several-accepted-types-refused")
def accept_lists_are_refused(app: ASGIApp, contract: Contract) -> App:
    """An Accept header with several types is refused with 406."""
    return refuse_matching(app, contract, lambda scope: b"," in header_of(scope, b"accept"), 406)


@wrapping_fault("named-organisations-refused")
def organisations_are_refused(app: ASGIApp, contract: Contract) -> App:
    """A request that names an organization is refused, because the server knows none."""
    return refuse_matching(app, contract, lambda scope: bool(header_of(scope, b"openai-organization")), 400)


@wrapping_fault("fifty-headers-refused")
def many_headers_are_refused(app: ASGIApp, contract: Contract) -> App:
    """A request with more than 50 header fields is refused with 431."""
    return refuse_matching(app, contract, lambda scope: len(scope["headers"]) > MOST_HEADERS, 431)


@wrapping_fault("tokens-of-2-kb-refused")
def long_tokens_are_refused(app: ASGIApp, contract: Contract) -> App:
    """A header field of more than 2 KB that is not a cookie is refused with 431."""
    return refuse_matching(
        app,
        contract,
        lambda scope: any(len(value) > LONGEST_VALUE and name != b"cookie" for name, value in scope["headers"]),
        431,
    )


@wrapping_fault("baggage-of-traces-fails")
def baggage_is_refused(app: ASGIApp, contract: Contract) -> App:
    """A request with the baggage of a trace fails with 500."""
    return refuse_matching(app, contract, lambda scope: bool(header_of(scope, b"baggage")), 500)


@wrapping_fault("request-ids-in-use-refused")
def request_ids_in_use_are_refused(app: ASGIApp, contract: Contract) -> App:
    """A request whose X-Request-ID another one had less than a second ago gets a 409."""
    refused = CannedResponse(409, b'{"error": "request id in use"}')
    used_at_s: dict[bytes, float] = {}

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        identity = header_of(scope, b"x-request-id") if is_chat_request(scope, contract) else b""
        now_s = time.monotonic()
        is_used = bool(identity) and now_s - used_at_s.get(identity, -REMEMBERED_S) < REMEMBERED_S
        used_at_s[identity] = now_s
        await (refused if is_used else app)(scope, receive, send)

    return serve


@wrapping_fault("bodies-of-a-megabyte-refused", applies_to=requires_check("http.large-messages-taken"))
def large_bodies_are_refused(app: ASGIApp, contract: Contract) -> App:
    """A body of more than a megabyte is refused with 413."""
    return refuse_matching(app, contract, lambda scope: int(header_of(scope, b"content-length") or 0) > MEGABYTE, 413)
