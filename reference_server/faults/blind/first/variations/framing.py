"""Variations of HTTP: headers, content encodings, connections and pauses."""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import variation, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.hooks import DONE
from reference_server.faults.http_gate import header_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import ResponseHead, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

GZIP_BITS: Final = 31  # zlib's code for the format of gzip
GATEWAY: Final = {f"x-gateway-field-{number}": "value " * 25 for number in range(30)}


def _headed(name: str, line: str, edit: Callable[[ResponseHead], object]) -> Fault:
    return variation(name, line, head=lambda head, _request: edit(head), everywhere=True)


def _capitalise(head: ResponseHead) -> None:
    renamed = {name.title(): value for name, value in head.headers.items()}
    head.headers.clear()
    head.headers.update(renamed)


def _close_streams(head: ResponseHead) -> None:
    if head.streams:
        head.headers["connection"] = "close"


def _close_refusals(head: ResponseHead) -> None:
    if head.status >= 400:
        head.headers["connection"] = "close"


header_names_capitalised = _headed("header-names-capitalised", "Names of headers have capitals.", _capitalise)
streams_close_connections = _headed(
    "streams-close-connections", "The connection is closed after a stream.", _close_streams
)
refusals_close_connections = _headed(
    "refusals-close-connections", "The connection is closed after a refusal.", _close_refusals
)
keep_alive_stated = _headed(
    "keep-alive-stated",
    "Keep-Alive states a time and a number of requests.",
    lambda head: head.headers.update({"keep-alive": "timeout=5, max=100"}),
)
gateway_headers = _headed(
    "gateway-headers",
    "A gateway adds 30 headers with 5 KB.",
    lambda head: head.headers.update(GATEWAY),
)


answers_tagged = _headed(
    "answers-tagged",
    "Responses have an ETag and a Vary field.",
    lambda head: head.headers.update({"etag": 'W/"1"', "vary": "origin, accept-encoding"}),
)


def _compressing(app: ASGIApp, contract: Contract, *, streams: bool) -> App:
    """Compress plain answers, and streams event by event, for clients that accept gzip."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        coder = zlib.compressobj(wbits=GZIP_BITS)
        coded = [False]

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                kind: bytes = dict(message["headers"]).get(b"content-type", b"")
                coded[0] = streams or not kind.startswith(b"text/event-stream")
                if coded[0]:
                    kept = [pair for pair in message["headers"] if pair[0] != b"content-length"]
                    added = [(b"content-encoding", b"gzip"), (b"vary", b"accept-encoding")]
                    message = {**message, "headers": [*kept, *added]}
            elif coded[0]:
                flush = zlib.Z_SYNC_FLUSH if message.get("more_body") else zlib.Z_FINISH
                message = {**message, "body": coder.compress(message.get("body", b"")) + coder.flush(flush)}
            await send(message)

        accepted = b"gzip" in header_of(scope, b"accept-encoding")
        await app(scope, receive, sent if is_chat_request(scope, contract) and accepted else send)

    return serve


@wrapping_fault("gzip-everything", benign=True)
def gzip_everything(app: ASGIApp, contract: Contract) -> App:
    """Answers are compressed for clients that accept gzip, streams event by event."""
    return _compressing(app, contract, streams=True)


@wrapping_fault("gzip-plain-answers", benign=True)
def gzip_plain_answers(app: ASGIApp, contract: Contract) -> App:
    """Plain answers are compressed for clients that accept gzip, streams are not."""
    return _compressing(app, contract, streams=False)


@wrapping_fault("bodies-in-two-parts", benign=True)
def bodies_in_two_parts(app: ASGIApp, contract: Contract) -> App:
    """Plain answers are sent in two parts with a pause between them."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            body = message.get("body", b"")
            if message["type"] == "http.response.body" and not message.get("more_body") and body.startswith(b"{"):
                await send({**message, "body": body[: len(body) // 2], "more_body": True})
                await asyncio.sleep(0.02)
                message = {**message, "body": body[len(body) // 2 :]}
            await send(message)

        await app(scope, receive, sent if is_chat_request(scope, contract) else send)

    return serve


def _two_spaces(frame: bytes, _request: ServedRequest) -> Iterable[bytes]:
    return [frame if frame == DONE else frame.replace(b"data: {", b"data:  {", 1)]


async def _pause_in_the_middle(body: bytes, request: ServedRequest) -> AsyncIterator[bytes]:
    request.state["sent"] = request.state.get("sent", 0) + 1
    if request.state["sent"] == 6:
        await asyncio.sleep(0.8)
    yield body


async def _pause_at_the_end(body: bytes, _request: ServedRequest) -> AsyncIterator[bytes]:
    rest = body.removesuffix(DONE)
    if rest:
        yield rest
    if rest != body:
        await asyncio.sleep(0.8)
        yield DONE


two_spaces = variation("two-spaces-after-colon", "Two spaces follow the colon of data.", event=_two_spaces)
pauses_in_streams = variation("pauses-in-streams", "A stream pauses for 0.8 s.", pieces=_pause_in_the_middle)
late_done = variation("late-done", "`[DONE]` is sent 0.8 s after the last chunk.", pieces=_pause_at_the_end)
