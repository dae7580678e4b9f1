"""Faults in answers to requests that accept gzip."""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.http_gate import chat_requests, header_of, refuse_matching

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract

    App = Callable[[Scope, Receive, Send], Awaitable[None]]
    Code = Callable[[bytes, bool], bytes]

GZIP: Final = 31
RAW: Final = -15
TRAILER: Final = 8
EVENT_S: Final = 0.01
"""How long an event takes, so that a stream that is held back can be told from one that is fast."""


def _accepts_gzip(scope: Scope) -> bool:
    """Return whether a request accepts gzip; a weight of 0 refuses it."""
    items = header_of(scope, b"accept-encoding").lower().replace(b" ", b"").split(b",")
    return any(item.startswith(b"gzip") and item != b"gzip;q=0" for item in items)


def gzip_coder(window: int = GZIP) -> Code:
    """Return a function that compresses a body piece by piece. It takes a piece and whether another one follows."""
    coder = zlib.compressobj(wbits=window)

    def code(piece: bytes, more: bool) -> bytes:
        return coder.compress(piece) + coder.flush(zlib.Z_SYNC_FLUSH if more else zlib.Z_FINISH)

    return code


def code_answers(app: ASGIApp, make: Callable[[], Code], coding: bytes = b"gzip", *, delay_s: float = 0.0) -> App:
    """Compress the answers to requests that accept gzip."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        coded = scope["type"] == "http" and _accepts_gzip(scope)
        code = make()

        async def send_coded(message: Message) -> None:
            if message["type"] == "http.response.body" and message.get("more_body"):
                await asyncio.sleep(delay_s)
            if coded and message["type"] == "http.response.start":
                headers = [pair for pair in message["headers"] if pair[0] != b"content-length"]
                message = {**message, "headers": [*headers, (b"content-encoding", coding)]}
            elif coded and message["type"] == "http.response.body":
                message = {**message, "body": code(message.get("body", b""), bool(message.get("more_body")))}
            await send(message)

        await app(scope, receive, send_coded)

    return serve


@wrapping_fault("gzip-without-trailer")
def gzip_without_trailer(app: ASGIApp, _contract: Contract) -> App:
    """Compressed answers lack the checksum at their end."""

    def make() -> Code:
        code = gzip_coder()
        return lambda piece, more: code(piece, more) if more else code(piece, more)[:-TRAILER]

    return code_answers(app, make)


@wrapping_fault("gzip-unfinished")
def gzip_unfinished(app: ASGIApp, _contract: Contract) -> App:
    """The last bytes of a compressed answer are never flushed."""

    def make() -> Code:
        coder = zlib.compressobj(wbits=GZIP)
        return lambda piece, _more: coder.compress(piece)

    return code_answers(app, make)


@wrapping_fault("gzip-only-said")
def gzip_only_said(app: ASGIApp, _contract: Contract) -> App:
    """Answers to requests that accept gzip are marked as compressed, but are not."""
    return code_answers(app, lambda: lambda piece, _more: piece)


@wrapping_fault("gzip-twice")
def gzip_twice(app: ASGIApp, _contract: Contract) -> App:
    """Answers are compressed twice, by a gateway and by its upstream, and marked once."""

    def make() -> Code:
        inner, outer = gzip_coder(), gzip_coder()
        return lambda piece, more: outer(inner(piece, more), more)

    return code_answers(app, make)


@wrapping_fault("gzip-is-deflate")
def gzip_is_deflate(app: ASGIApp, _contract: Contract) -> App:
    """Answers that are marked as gzip are raw deflate."""
    return code_answers(app, lambda: gzip_coder(RAW))


@wrapping_fault("codings-unasked")
def codings_are_unasked(app: ASGIApp, _contract: Contract) -> App:
    """A request that accepts gzip is answered in another coding."""
    return code_answers(app, gzip_coder, b"zstd")


@wrapping_fault("gzip-of-other-text")
def gzip_of_other_text(app: ASGIApp, _contract: Contract) -> App:
    """Compressed answers have another text."""

    def make() -> Code:
        code = gzip_coder()
        return lambda piece, more: code(piece.replace(b'"content":"', b'"content":"x'), more)

    return code_answers(app, make)


@wrapping_fault("gzip-holds-streams", timeout_s=20)
def gzip_holds_streams(app: ASGIApp, _contract: Contract) -> App:
    """A compressed stream is sent when it is complete."""

    def make() -> Code:
        coder = zlib.compressobj(wbits=GZIP)
        return lambda piece, more: coder.compress(piece) + (b"" if more else coder.flush())

    return code_answers(app, make, delay_s=EVENT_S)


@wrapping_fault("gzip-refused")
def gzip_is_refused(app: ASGIApp, contract: Contract) -> App:
    """A request that accepts gzip is refused."""
    return refuse_matching(app, contract, _accepts_gzip, 406)


@wrapping_fault("gzip-hangs-up")
def gzip_hangs_up(app: ASGIApp, contract: Contract) -> App:
    """The connection is closed when a request accepts gzip."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if chat_requests(contract)(scope) and _accepts_gzip(scope):
            getattr(send, "__self__").transport.close()  # noqa: B009
            return
        await app(scope, receive, send)

    return serve
