"""The HTTP client that records exchanges byte by byte.

It sends one request and records the answer until it ends, the deadline or the byte limit is reached, or the caller has
seen enough. The server is treated as hostile: the client follows no redirects, keeps no cookies, reads no proxy
settings or .netrc, decompresses only what a request accepts, and sends the API key and the user's own headers to one
origin only. Each exchange has its own connection, so that the state of a connection after one answer cannot influence
the next verdict; tests of connection reuse are the exception.
"""

from __future__ import annotations

import asyncio
import time
from itertools import starmap
from typing import TYPE_CHECKING, Final, Self

import h11

from conformance.client.connection import Connection
from conformance.client.connection_pool import ConnectionPool
from conformance.client.content_coding import CodingError, decoder_for
from conformance.client.event_loop_lag import EventLoopLag
from conformance.client.recording import KeptBytes, Recording
from conformance.client.redaction import Redaction, RedactionTimeout
from conformance.client.request_builder import RequestBuilder
from conformance.client.transport_errors import explain_error
from conformance.errors import HarnessError
from conformance.exchange import Exchange, Failure, Request, Response, Segment

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence
    from types import TracebackType

    from conformance.client.call import Call
    from conformance.client.headers import GatewayHeader
    from conformance.client.request_builder import BuiltRequest
    from conformance.client.secret import Secret

MAX_BODY_BYTES: Final = 4 * 1024 * 1024
"""Longest body of one answer; the longest of a usual run has 60 thousand bytes."""
REDACTION_S: Final = 2.0
"""How long the removal of secrets may take after the deadline of an exchange."""
SHORT_BYTES: Final = 2048
"""Searching a body of this size for secrets takes less time than starting a thread for it."""


class Client:
    """Sends calls to one server; an async context manager.

    `verify` is httpx's: True for the default certificate authorities, False for no verification, or an SSLContext. At
    most `connections` calls run at the same time; the clock of a call starts when it may run. `headers` are sent with
    every call to the server's origin, unless the call has its own header of that name. Raises UsageError for an invalid
    URL.
    """

    def __init__(
        self,
        url: str,
        secret: Secret | None = None,
        *,
        headers: Sequence[GatewayHeader] = (),
        verify: bool | ssl.SSLContext = True,
        connections: int = 64,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._builder = RequestBuilder(url, secret, headers)
        self._secret = secret
        secrets = [*(() if secret is None else (secret,)), *(value for header in headers for value in header.secrets)]
        beginning = None if secret is None else secret.beginning
        self._redaction = Redaction(secrets)
        # An altered key begins with most of the real one.
        self._redaction_of_altered = Redaction([*secrets, beginning]) if beginning is not None else self._redaction
        self._redacting = asyncio.Lock()
        self._kept = KeptBytes()
        self._max_body_bytes = max_body_bytes
        self._limit = asyncio.Semaphore(connections)
        self._pool = ConnectionPool(verify)
        self._lag = EventLoopLag()

    @property
    def has_key(self) -> bool:
        """Whether the client has an API key. Calls can still go without it."""
        return self._secret is not None

    @property
    def has_altered_keys(self) -> bool:
        """Whether the key is long enough to be altered, so that an echo of its beginning can be recognized."""
        return self._secret is not None and self._secret.beginning is not None

    async def __aenter__(self) -> Self:
        if self._builder.origin[0] == "https":
            self._pool.load_tls()  # takes longer than most answers, and would be counted as the server's time
        self._lag.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lag.stop()
        self._pool.close()

    async def send(self, call: Call) -> Exchange:
        """Send one request and record the exchange, whatever the server does.

        Raises HarnessError if the call itself is invalid: a bad URL, method or header.
        """
        request = self._builder.build(call)
        async with self._limit:
            recording = Recording(
                max_body_bytes=self._max_body_bytes, stop_after_events=call.stop_after_events, kept=self._kept
            )
            until_s = time.monotonic() + call.deadline_s + REDACTION_S
            try:
                async with asyncio.timeout(call.deadline_s):
                    await self._receive(call, request, recording)
            except TimeoutError:
                recording.fail("timeout", f"no complete answer within {call.deadline_s:g} s")
            except h11.LocalProtocolError as error:
                raise HarnessError(f"call {call.id} cannot be sent: {error}") from error
            except (h11.RemoteProtocolError, OSError) as error:
                opened = recording.head is not None
                recording.fail(*explain_error(error, request.origin, connected=recording.connected, opened=opened))
            except CodingError as error:
                recording.fail("coding", str(error))
            recording.end()
            recording.stalled_s = self._lag.longest_stall_s(recording.started)
        redaction = self._redaction if call.alteration is None else self._redaction_of_altered
        if redaction.is_needless or recording.size_bytes <= SHORT_BYTES:
            return self._finish(call, request, recording, redaction, until_s)
        # In a thread: searching a long body takes long, and the event loop is timing other exchanges. One at a time,
        # because the search needs several times the memory of the body.
        async with self._redacting:
            return await asyncio.to_thread(self._finish, call, request, recording, redaction, until_s)

    async def _receive(self, call: Call, request: BuiltRequest, recording: Recording) -> None:
        """Send the request and record its answer.

        Some servers close a kept connection after a failure of their own without saying so, while the next request is
        on its way. A request that finds such a connection closed, without a byte of an answer, is sent once more over a
        new one.
        """
        connection = await self._pool.acquire(call.connection_name)
        if connection.opened:
            try:
                await self._receive_over(connection, call, request, recording)
            except (h11.RemoteProtocolError, OSError):
                if not connection.was_given_up:
                    raise
            else:
                return
            connection = Connection()
        await self._receive_over(connection, call, request, recording)

    async def _receive_over(
        self, connection: Connection, call: Call, request: BuiltRequest, recording: Recording
    ) -> None:
        try:
            connection.send(request.message, call.body)
            if not connection.opened:
                await self._pool.open(connection, request.origin)
            recording.connected = True
            head = await connection.read_head()
            recording.open(head)
            decoder = decoder_for(head.headers, request.headers)
            while recording.wants_more():
                piece = await connection.read()
                if piece is None:
                    if decoder is not None:
                        decoder.end()
                    recording.complete = True
                    return
                if decoder is None:
                    recording.add(piece)
                elif decoded := decoder.feed(piece, recording.room + 1):
                    recording.add(decoded)
        finally:
            self._pool.release(call.connection_name, connection)

    def _finish(
        self, call: Call, request: BuiltRequest, recording: Recording, redaction: Redaction, until_s: float
    ) -> Exchange:
        """Turn the recording into an exchange without secrets."""
        response = None
        if (head := recording.head) is not None:
            segments = list(recording.take_segments())
            try:
                segments = redaction.redact_body(segments, until_s)
                segments = redaction.redact_ends(segments, recording.cut_places)
            except RedactionTimeout:
                segments = [b""] * len(segments)
                recording.withhold("the body was not kept, because removing secrets from it took too long")
            response = Response(
                status=head.status,
                reason=redaction.redact_line(head.reason),
                http_version=head.http_version,
                headers=redaction.redact_headers(head.headers),
                segments=tuple(starmap(Segment, zip(recording.arrivals_s, segments, strict=True))),
                headers_at_s=recording.headers_at_s,
                ended_at_s=recording.ended_at_s,
                complete=recording.complete,
                stalled_s=recording.stalled_s,
            )
        failure = recording.failure
        return Exchange(
            id=call.id,
            scenario=call.scenario,
            step=call.step,
            request=Request(
                method=call.method,
                url=redaction.redact_text(request.url),
                headers=redaction.redact_headers(request.headers),
                body=b"".join(redaction.redact_body([call.body])),
            ),
            response=response,
            failure=None if failure is None else Failure(failure.kind, redaction.redact_text(failure.detail)),
            started_at=recording.started_at,
        )
