"""The client: alone in the suite it touches the network, over its `Lines`.

It sends one request and records what comes back, byte by byte, until the answer ends, the deadline or the byte limit is
reached, or the caller has seen enough. The server is taken for hostile: no redirect is followed, no cookie kept, no
proxy or .netrc read, nothing inflated, and the key and the user's own headers go to one origin only. Each exchange has
a connection of its own, so that nothing one answer did to its connection can colour the next verdict, unless just that
is to be seen.
"""

from __future__ import annotations

import asyncio
from itertools import starmap
from typing import TYPE_CHECKING, Final, Self

import h11

from conformance.client.connection_pool import Lines
from conformance.client.event_loop_lag import Pulse
from conformance.client.recording import Recording
from conformance.client.redaction import Redaction
from conformance.client.request_builder import Writer
from conformance.client.transport_errors import explain
from conformance.errors import HarnessError
from conformance.exchange import Exchange, Failure, Request, Response, Segment

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence
    from types import TracebackType

    from conformance.client.call import Call
    from conformance.client.headers import Header
    from conformance.client.request_builder import Outgoing
    from conformance.client.secret import Secret

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
SHORT_BYTES: Final = 2048
"""A body that is searched for the key sooner than a thread takes over."""


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
        self._writer = Writer(url, secret, headers)
        self._secret = secret
        self._hidden = tuple(each for header in headers for each in header.secrets)
        self._max_body_bytes = max_body_bytes
        self._places = asyncio.Semaphore(connections)
        self._lines = Lines(verify)
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
        if self._writer.origin[0] == "https":
            self._lines.authorities()  # takes longer than most answers, whose time it would be taken for
        self._pulse.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pulse.end()
        self._lines.close()

    async def send(self, call: Call) -> Exchange:
        """Sends one request and records the exchange, whatever the server does.

        Raises HarnessError if the call itself cannot be sent: a bad URL, method or header.
        """
        request = self._writer.write(call)
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
                opened = record.head is not None
                record.fail(*explain(error, request.origin, connected=record.connected, opened=opened))
            record.ended_at_s = record.now()
            record.held_up_s = self._pulse.longest_s(record.started)
        if (self._secret is None and not self._hidden) or record.size_bytes <= SHORT_BYTES:
            return self._write(call, request, record)
        # Out of the event loop's way: a long body takes long to search, and other exchanges are being timed.
        return await asyncio.to_thread(self._write, call, request, record)

    async def _receive(self, call: Call, request: Outgoing, record: Recording) -> None:
        connection = await self._lines.take(call.line)
        try:
            connection.send(request.message, call.body)
            if not connection.opened:
                await self._lines.open(connection, request.origin)
            record.connected = True
            record.open(await connection.head())
            while record.wants_more():
                piece = await connection.read()
                if piece is None:
                    record.complete = True
                    return
                record.add(piece)
        finally:
            self._lines.give_back(call.line, connection)

    def _write(self, call: Call, request: Outgoing, record: Recording) -> Exchange:
        """The exchange as it may be kept: without the key and what else is secret."""
        redacted = Redaction(self._secret, call.alteration, self._hidden)
        response = None
        if (head := record.head) is not None:
            bodies = redacted.body(list(record.take()))
            response = Response(
                status=head.status,
                reason=redacted.line(head.reason),
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
