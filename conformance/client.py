"""The client: the only file of the suite that touches the network.

It sends one request and records what comes back, byte by byte, until the answer ends, the deadline or the byte limit is
reached, or the caller has seen enough. The server is taken for hostile: no redirect is followed, no cookie kept, no
proxy or .netrc read, nothing inflated, and the key goes to one origin only. Each exchange has a connection of its own,
so that nothing one answer did to its connection can colour the next verdict, unless just that is to be seen.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from dataclasses import dataclass, field
from itertools import starmap
from typing import TYPE_CHECKING, Final, Self, cast

import httpx

from conformance.errors import HarnessError, UsageError
from conformance.exchange import Exchange, Failure, FailureKind, Headers, Request, Response, Segment
from conformance.recording import Recording

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
    from types import TracebackType

    from conformance.secret import Secret

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
SETTLE_S: Final = 0.05  # before a connection is used again
SHORT_BYTES: Final = 2048
"""A body that is searched for the key sooner than a thread takes over."""
DEFAULT_HEADERS: Final = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "chatproof"}


@dataclass(frozen=True, slots=True)
class Call:
    """What to send, and when to stop.

    `url` is put behind the client's URL unless it names a scheme. `headers` go out as they stand and replace
    defaults of the same name (Accept, Accept-Encoding, User-Agent, Authorization); nothing else is added but Host and
    Content-Length. `stop_after_events` disconnects on purpose after so many events (0: after the headers).
    `deadline_s` bounds the whole exchange, from connecting to the last byte. `with_key=False` keeps the key back,
    `scheme` is the word before it. Calls of one `line` share a connection, as far as the server keeps it open.
    """

    id: str
    scenario: str
    step: str
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    stop_after_events: int | None = None
    deadline_s: float = 60.0
    with_key: bool = True
    scheme: str = "Bearer"
    line: str | None = None


class Client:
    """Sends calls to one server; an async context manager.

    `verify` is httpx's: True for the usual authorities, False for none, or an SSLContext. At most `connections` calls
    run at once; a call's clock starts when it has its place. Raises UsageError for a URL that cannot be called.
    """

    def __init__(
        self,
        url: str,
        secret: Secret | None = None,
        *,
        verify: bool | ssl.SSLContext = True,
        connections: int = 64,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._url = url.rstrip("/")
        self._origin = _origin(_read_url(self._url))
        self._secret = secret
        self._max_body_bytes = max_body_bytes
        self._places = asyncio.Semaphore(connections)
        self._verify = verify
        self._lines: dict[str, httpx.AsyncHTTPTransport] = {}
        self._transport = self._open(kept=0)

    def _open(self, kept: int) -> httpx.AsyncHTTPTransport:
        """A transport that keeps so many connections open, and uses no more at once where it keeps any."""
        # The transport alone, without httpx.AsyncClient around it: the latter reads Location even where it follows
        # nothing (and raises on a bad one), keeps cookies, and logs URLs.
        return httpx.AsyncHTTPTransport(
            verify=self._verify,
            trust_env=False,
            http1=True,
            http2=False,
            retries=0,
            limits=httpx.Limits(max_connections=kept or None, max_keepalive_connections=kept),
        )

    @property
    def has_key(self) -> bool:
        """Whether requests carry a key, unless they are to go without."""
        return self._secret is not None

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for transport in (*self._lines.values(), self._transport):
            await transport.__aexit__(kind, error, trace)

    async def send(self, call: Call) -> Exchange:
        """Sends one request and records the exchange, whatever the server does.

        Raises HarnessError if the call itself cannot be sent: a bad URL, method or header.
        """
        request = self._build(call)
        async with self._places:
            record = Recording(max_body_bytes=self._max_body_bytes, stop_after_events=call.stop_after_events)
            try:
                async with asyncio.timeout(call.deadline_s):
                    await self._receive(await self._transport_of(call), request, record)
            except TimeoutError:
                record.fail("timeout", f"no complete answer within {call.deadline_s:g} s")
            except (httpx.LocalProtocolError, httpx.UnsupportedProtocol) as error:
                raise HarnessError(f"call {call.id} cannot be sent: {error}") from error
            except httpx.TransportError as error:
                record.fail(*_explain(error, request.url, opened=record.response is not None))
            record.ended_at_s = record.now()
        if record.size_bytes <= SHORT_BYTES:
            return self._write(call, request, record)
        # Out of the event loop's way: a long body takes long to search, and other exchanges are being timed.
        return await asyncio.to_thread(self._write, call, request, record)

    def _build(self, call: Call) -> httpx.Request:
        url = _read_url(call.url if call.url.startswith(("http://", "https://")) else self._url + call.url)
        defaults = dict(DEFAULT_HEADERS)
        if self._secret is not None and call.with_key and _origin(url) == self._origin:
            defaults["Authorization"] = f"{call.scheme} {self._secret.reveal()}"
        given = {name.lower() for name in call.headers}
        headers = [pair for pair in defaults.items() if pair[0].lower() not in given]
        # Not None: a POST without a body then still says Content-Length: 0. In chunks only where the call says so.
        content = _pieces(call.body) if "transfer-encoding" in given else call.body
        try:
            return httpx.Request(call.method, url, headers=[*headers, *call.headers.items()], content=content)
        except (ValueError, TypeError) as error:
            raise HarnessError(f"call {call.id} cannot be sent: {error}") from error

    async def _transport_of(self, call: Call) -> httpx.AsyncHTTPTransport:
        """The transport of a call's line. What the server closes after an answer is given the time to be seen."""
        if call.line is None:
            return self._transport
        if call.line in self._lines:
            await asyncio.sleep(SETTLE_S)
        else:
            self._lines[call.line] = await self._open(kept=1).__aenter__()
        return self._lines[call.line]

    async def _receive(self, transport: httpx.AsyncHTTPTransport, request: httpx.Request, record: Recording) -> None:
        response = await transport.handle_async_request(request)
        record.open(response)
        try:
            if record.wants_more():
                # A generator, though typed as an iterator: it must be closed where we leave it early.
                pieces = cast("AsyncGenerator[bytes]", response.aiter_raw())
                async with contextlib.aclosing(pieces):
                    async for piece in pieces:
                        record.add(piece)
                        if not record.wants_more():
                            return
                record.complete = True
        finally:
            await response.aclose()

    def _write(self, call: Call, request: httpx.Request, record: Recording) -> Exchange:
        """The exchange as it may be kept: without the key."""
        response = None
        if record.response is not None:
            bodies = self._redact_body(list(record.take()))
            response = Response(
                status=record.response.status_code,
                reason=self._redact(_text(record.response.extensions.get("reason_phrase", b""))),
                http_version=_text(record.response.extensions.get("http_version", b"")),
                headers=self._redact_headers(record.response.headers),
                segments=tuple(starmap(Segment, zip(record.arrivals_s, bodies, strict=True))),
                headers_at_s=record.headers_at_s,
                ended_at_s=record.ended_at_s,
                complete=record.complete,
            )
        failure = record.failure
        return Exchange(
            id=call.id,
            scenario=call.scenario,
            step=call.step,
            request=Request(
                method=call.method,
                url=self._redact(str(request.url)),
                headers=self._redact_headers(request.headers),
                body=b"".join(self._redact_body([call.body])),
            ),
            response=response,
            failure=None if failure is None else Failure(failure.kind, self._redact(failure.detail)),
            started_at=record.started_at,
        )

    def _redact(self, text: str) -> str:
        return text if self._secret is None else self._secret.redact(text)

    def _redact_body(self, segments: list[bytes]) -> list[bytes]:
        return segments if self._secret is None else self._secret.redact_body(segments)

    def _redact_headers(self, headers: httpx.Headers) -> Headers:
        return tuple((self._redact(_text(name)), self._redact(_text(value))) for name, value in headers.raw)


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    yield body


def _read_url(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise UsageError(f"{text!r} is no URL: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise UsageError(f"{text!r} is no URL of a server: write http://host:port or https://host")
    if url.userinfo:
        raise UsageError("the URL holds a user name or password, which reports would show: pass a key instead")
    return url


def _origin(url: httpx.URL) -> tuple[str, str, int]:
    return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)


def _text(data: bytes) -> str:
    return data.decode("latin-1")  # what HTTP headers are made of; every byte has a character


def _explain(error: httpx.TransportError, url: httpx.URL, *, opened: bool) -> tuple[FailureKind, str]:
    """What a transport error says about the server, in one line. `opened`: an answer had begun."""
    where = f"{url.host}:{_origin(url)[2]}"
    for cause in () if opened else _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "tls", f"the certificate of {where} is not trusted: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return "tls", f"no TLS with {where}: {cause.reason or cause}"
        if isinstance(cause, socket.gaierror):
            return "connect", f"the name {url.host} cannot be resolved: {cause.strerror}"
        if isinstance(cause, ConnectionRefusedError):
            return "connect", f"{where} refuses connections: nothing listens there"
        if getattr(cause, "error_status_hint", None) == 431:  # h11's, where a header outgrows its buffer
            return "too-large", f"the header of {where}'s answer is longer than the client reads"
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return "connect", f"cannot connect to {where}: {error}"
    if isinstance(error, httpx.ProtocolError):
        return "protocol", f"the answer of {where} breaks HTTP/1.1: {error}"
    return "reset", f"{where} broke the connection before the answer was complete"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and all that led to it, nearest first; also what httpcore hides by `raise ... from None`."""
    rest: list[BaseException | None] = [error]
    while rest:
        cause = rest.pop(0)
        if cause is not None:
            yield cause
            if isinstance(cause, BaseExceptionGroup):
                rest += cause.exceptions
            rest.append(cause.__cause__ or cause.__context__)
