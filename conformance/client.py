"""The client: the only file of the suite that touches the network.

It sends one request and records what comes back, byte by byte, until the answer ends, the deadline or the byte limit is
reached, or the caller has seen enough. The server is taken for hostile: no redirect is followed, no cookie kept, no
proxy or .netrc read, nothing inflated, and the key and the user's own headers go to one origin only. Each exchange has
a connection of its own, so that nothing one answer did to its connection can colour the next verdict, unless just that
is to be seen.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass, field
from itertools import starmap
from typing import TYPE_CHECKING, Final, Self

import h11
import httpx

from conformance.connection import Connection
from conformance.errors import HarnessError, UsageError
from conformance.exchange import Exchange, Failure, FailureKind, Headers, Request, Response, Segment
from conformance.pulse import Pulse
from conformance.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from conformance.headers import Header
    from conformance.secret import Alteration, Secret

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
SETTLE_S: Final = 0.05  # before a connection is used again
NEXT_ADDRESS_S: Final = 2.0
"""So long one of several addresses of a name may take to let us in."""
SHORT_BYTES: Final = 2048
"""A body that is searched for the key sooner than a thread takes over."""
DEFAULT_HEADERS: Final = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "chatproof"}


Origin = tuple[str, str, int]
"""Scheme, host and port."""
WITH_BODY: Final = ("POST", "PUT", "PATCH")


@dataclass(frozen=True, slots=True)
class Call:
    """What to send, and when to stop.

    `url` is put behind the client's URL unless it names a scheme. `headers` go out as they stand and replace
    defaults of the same name (Accept, Accept-Encoding, User-Agent, Authorization); nothing else is added but Host and
    Content-Length. `stop_after_events` disconnects on purpose after so many events (0: after the headers).
    `deadline_s` bounds the whole exchange, from connecting to the last byte. `with_key=False` keeps the key back,
    `scheme` is the word before it, `alteration` makes a wrong key of it. Calls of one `line` share a connection, as
    far as the server keeps it open.
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
    alteration: Alteration | None = None


class Client:
    """Sends calls to one server; an async context manager.

    `verify` is httpx's: True for the usual authorities, False for none, or an SSLContext. At most `connections` calls
    run at once; a call's clock starts when it has its place. `headers` go out with every call to the server's origin,
    but where the call has its own of that name. Raises UsageError for a URL that cannot be called.
    """

    def __init__(
        self,
        url: str,
        secret: Secret | None = None,
        *,
        headers: Sequence[Header] = (),
        verify: bool | ssl.SSLContext = True,
        connections: int = 64,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._url = url.rstrip("/")
        self._origin = _origin(_read_url(self._url))
        self._secret = secret
        self._headers = tuple(headers)
        self._hidden = tuple(each for header in headers for each in header.secrets)
        self._names = {header.name.lower() for header in headers}
        self._max_body_bytes = max_body_bytes
        self._places = asyncio.Semaphore(connections)
        self._verify = verify
        self._tls: ssl.SSLContext | None = None
        self._urls: dict[str, httpx.URL] = {}
        self._addresses: dict[Origin, list[str]] = {}
        self._lines: dict[str, Connection] = {}
        self._pulse = Pulse()

    @property
    def has_key(self) -> bool:
        """Whether requests carry a key, unless they are to go without."""
        return self._secret is not None

    @property
    def has_altered_keys(self) -> bool:
        """Whether the key is long enough to be altered: its beginning has to be known where it comes back."""
        return self._secret is not None and self._secret.beginning is not None

    async def __aenter__(self) -> Self:
        if self._origin[0] == "https":
            self._authorities()  # takes longer than most answers, whose time it would be taken for
        self._pulse.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pulse.end()
        for connection in self._lines.values():
            connection.close()

    async def send(self, call: Call) -> Exchange:
        """Sends one request and records the exchange, whatever the server does.

        Raises HarnessError if the call itself cannot be sent: a bad URL, method or header.
        """
        request = self._build(call)
        async with self._places:
            record = Recording(max_body_bytes=self._max_body_bytes, stop_after_events=call.stop_after_events)
            try:
                async with asyncio.timeout(call.deadline_s):
                    await self._receive(call, request, record)
            except TimeoutError:
                record.fail("timeout", f"no complete answer within {call.deadline_s:g} s")
            except h11.LocalProtocolError as error:
                raise HarnessError(f"call {call.id} cannot be sent: {error}") from error
            except (h11.RemoteProtocolError, OSError) as error:
                record.fail(
                    *_explain(error, request.origin, connected=record.connected, opened=record.head is not None)
                )
            record.ended_at_s = record.now()
            record.held_up_s = self._pulse.longest_s(record.started)
        if (self._secret is None and not self._hidden) or record.size_bytes <= SHORT_BYTES:
            return self._write(call, request, record)
        # Out of the event loop's way: a long body takes long to search, and other exchanges are being timed.
        return await asyncio.to_thread(self._write, call, request, record)

    def _build(self, call: Call) -> _Request:
        url = self._url_of(call)
        origin = _origin(url)
        defaults = dict(DEFAULT_HEADERS)
        if self._secret is not None and call.with_key and origin == self._origin:
            key = self._secret.altered(call.alteration) if call.alteration else self._secret.reveal()
            defaults["Authorization"] = f"{call.scheme} {key}"
        if origin == self._origin:
            defaults = {name: value for name, value in defaults.items() if name.lower() not in self._names}
            defaults |= {header.name: header.reveal() for header in self._headers}
        given = {name.lower() for name in call.headers}
        headers = [("Host", url.netloc.decode("ascii")), *defaults.items()]
        headers = [pair for pair in headers if pair[0].lower() not in given] + [*call.headers.items()]
        # A POST without a body says so. In chunks only where the call says so.
        if given.isdisjoint(("content-length", "transfer-encoding")) and (call.body or call.method in WITH_BODY):
            headers.append(("Content-Length", str(len(call.body))))
        try:
            sent = tuple((name.encode("ascii"), value.encode("ascii")) for name, value in headers)
            message = h11.Request(method=call.method, target=url.raw_path, headers=[*sent])
        except (ValueError, h11.LocalProtocolError) as error:
            raise HarnessError(f"call {call.id} cannot be sent: {error}") from error
        return _Request(str(url), origin, sent, message)

    def _url_of(self, call: Call) -> httpx.URL:
        text = call.url if call.url.startswith(("http://", "https://")) else self._url + call.url
        if text not in self._urls:
            self._urls[text] = _read_url(text)
        return self._urls[text]

    async def _receive(self, call: Call, request: _Request, record: Recording) -> None:
        connection = await self._kept(call.line) or Connection()
        try:
            connection.send(request.message, call.body)
            if not connection.opened:
                await self._connect(connection, request.origin)
            record.connected = True
            record.open(await connection.head())
            while record.wants_more():
                piece = await connection.read()
                if piece is None:
                    record.complete = True
                    return
                record.add(piece)
        finally:
            if call.line is not None and connection.reusable:
                self._lines[call.line] = connection
            else:
                connection.close()

    async def _kept(self, line: str | None) -> Connection | None:
        """The connection of a line, if it is still open. What the server closes is given the time to be seen."""
        if line is None or line not in self._lines:
            return None
        await asyncio.sleep(SETTLE_S)
        kept = self._lines.pop(line)
        if kept.reusable:
            return kept
        kept.close()
        return None

    async def _connect(self, connection: Connection, origin: Origin) -> None:
        """Opens it, to the address of the name that let us in before, else to the first that does."""
        scheme, host, port = origin
        tls = self._authorities() if scheme == "https" else None
        if origin not in self._addresses:
            self._addresses[origin] = await _resolve(host, port)
        *others, last = self._addresses[origin]
        for address in others:
            try:
                async with asyncio.timeout(NEXT_ADDRESS_S):
                    await connection.open(address, port, tls, host)
            except ssl.SSLError:
                raise
            except OSError:  # a timeout is one, too
                continue
            self._addresses[origin] = [address]
            return
        await connection.open(last, port, tls, host)

    def _authorities(self) -> ssl.SSLContext:
        """Whom to trust; read when first needed."""
        if self._tls is None:
            # What the environment says is not asked: it is not who tells us.
            self._tls = httpx.create_ssl_context(verify=self._verify, trust_env=False)
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    def _write(self, call: Call, request: _Request, record: Recording) -> Exchange:
        """The exchange as it may be kept: without the key and what else is secret."""
        redacted = _Redaction(self._secret, call.alteration, self._hidden)
        response = None
        if (head := record.head) is not None:
            bodies = redacted.body(list(record.take()))
            response = Response(
                status=head.status,
                reason=redacted.text(_text(head.reason)),
                http_version=head.http_version,
                headers=redacted.headers(head.headers),
                segments=tuple(starmap(Segment, zip(record.arrivals_s, bodies, strict=True))),
                headers_at_s=record.headers_at_s,
                ended_at_s=record.ended_at_s,
                complete=record.complete,
                held_up_s=record.held_up_s,
            )
        failure = record.failure
        return Exchange(
            id=call.id,
            scenario=call.scenario,
            step=call.step,
            request=Request(
                method=call.method,
                url=redacted.text(request.url),
                headers=redacted.headers(request.headers),
                body=b"".join(redacted.body([call.body])),
            ),
            response=response,
            failure=None if failure is None else Failure(failure.kind, redacted.text(failure.detail)),
            started_at=record.started_at,
        )


class _Redaction:
    """Takes all secrets out of what an exchange keeps: the key, after an altered one went out also what that one begins
    with, and the values of secret headers.
    """

    def __init__(self, secret: Secret | None, alteration: Alteration | None, hidden: Sequence[Secret]) -> None:
        begun = secret.beginning if secret is not None and alteration is not None else None
        found = [each for each in (secret, begun, *hidden) if each is not None]
        self._secrets = sorted(found, key=lambda each: -len(each.reveal()))  # what holds another goes first

    def text(self, text: str) -> str:
        """A text."""
        for secret in self._secrets:
            text = secret.redact(text)
        return text

    def body(self, segments: list[bytes]) -> list[bytes]:
        """As many segments."""
        for secret in self._secrets:
            segments = secret.redact_body(segments)
        return segments

    def headers(self, headers: Iterable[tuple[bytes, bytes]]) -> Headers:
        """Header fields as text."""
        return tuple((self.text(_text(name)), self.text(_text(value))) for name, value in headers)


@dataclass(frozen=True, slots=True)
class _Request:
    """A call as it goes over the wire."""

    url: str
    origin: Origin
    headers: tuple[tuple[bytes, bytes], ...]
    message: h11.Request


async def _resolve(host: str, port: int) -> list[str]:
    """The addresses of a name, best first. Raises socket.gaierror."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    scoped = (f"{at[0]}%{at[3]}" if len(at) == 4 and at[3] else str(at[0]) for *_, at in found)
    return list(dict.fromkeys(scoped))


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


def _origin(url: httpx.URL) -> Origin:
    return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)


def _text(data: bytes) -> str:
    return data.decode("latin-1")  # what HTTP headers are made of; every byte has a character


def _explain(
    error: h11.RemoteProtocolError | OSError, origin: Origin, *, connected: bool, opened: bool
) -> tuple[FailureKind, str]:
    """What an error says about the server, in one line. `opened`: an answer had begun."""
    host = origin[1]
    where = f"{host}:{origin[2]}"
    if isinstance(error, h11.RemoteProtocolError):
        if error.error_status_hint == 431 and not opened:  # h11's, where a header outgrows its buffer
            return "too-large", f"the header of {where}'s answer is longer than the client reads"
        return "protocol", f"the answer of {where} breaks HTTP/1.1: {error}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return "tls", f"the certificate of {where} is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and not opened:
        return "tls", f"no TLS with {where}: {error.reason or error}"
    if isinstance(error, socket.gaierror):
        return "connect", f"the name {host} cannot be resolved: {error.strerror}"
    if isinstance(error, ConnectionRefusedError):
        return "connect", f"{where} refuses connections: nothing listens there"
    if not connected:
        return "connect", f"cannot connect to {where}: {error}"
    return "reset", f"{where} broke the connection before the answer was complete"
