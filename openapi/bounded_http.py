"""Send a request that is neither judged nor timed, through httpx, with limits on its time and on what is read.

No proxy, netrc or certificate settings of the environment are used, redirects are not followed, and nothing is
decompressed: a small answer cannot become a large one.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import h11
import httpx

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_BYTES: Final = 1024 * 1024
"""Longest body of an answer; the description of a large server has 300 thousand bytes."""
MAX_HEADERS: Final = 200


@dataclass(frozen=True, slots=True)
class BoundedAnswer:
    """The answer to a request; `complete` is False if the deadline or the byte limit ended it."""

    status: int
    reason: bytes
    http_version: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    complete: bool


class BoundedRequestError(Exception):
    """A request has no answer.

    cause: the error of the connection; None if the deadline has passed.
    connected: whether the connection had been opened.
    """

    def __init__(self, cause: OSError | h11.RemoteProtocolError | None, *, connected: bool = False) -> None:
        super().__init__(str(cause or "no answer in time"))
        self.cause = cause
        self.connected = connected


async def send_bounded(
    method: str,
    url: str,
    *,
    headers: Sequence[tuple[str, str]],
    body: bytes,
    deadline_s: float,
    verify: bool | ssl.SSLContext,
    max_bytes: int = MAX_BYTES,
) -> BoundedAnswer:
    """Send a request on a connection of its own. Raises BoundedRequestError without an answer."""
    received = bytearray()
    response: httpx.Response | None = None
    complete = False
    try:
        async with (
            asyncio.timeout(deadline_s),
            httpx.AsyncClient(
                verify=verify,
                trust_env=False,
                follow_redirects=False,
                timeout=deadline_s,
                limits=httpx.Limits(max_connections=1, max_keepalive_connections=0),
            ) as client,
        ):
            client.headers.clear()  # only the given ones are sent
            request = client.build_request(method, url, headers=[*headers], content=body)
            response = await client.send(request, stream=True)
            try:
                async for piece in response.aiter_raw():
                    received += piece
                    if len(received) > max_bytes:
                        break
                else:
                    complete = True
            finally:
                await response.aclose()
    except (TimeoutError, httpx.TimeoutException):
        if response is None:
            raise BoundedRequestError(None) from None
    except httpx.HTTPError as error:
        if response is None:
            raise BoundedRequestError(
                _find_cause(error), connected=not isinstance(error, httpx.ConnectError)
            ) from error
    return BoundedAnswer(
        response.status_code,
        response.extensions.get("reason_phrase", b""),
        bytes(response.extensions.get("http_version", b"HTTP/1.1")).decode("latin-1"),
        tuple(response.headers.raw[:MAX_HEADERS]),
        bytes(received[:max_bytes]),
        complete,
    )


def _find_cause(error: BaseException) -> OSError | h11.RemoteProtocolError:
    """Return the error of the connection behind an error of httpx, the most specific one."""
    known = [item for item in _causes(error) if isinstance(item, (OSError, h11.RemoteProtocolError))]
    for kind in (ssl.SSLError, socket.gaierror, ConnectionRefusedError, h11.RemoteProtocolError):
        if found := next((item for item in known if isinstance(item, kind)), None):
            return found
    if known:
        return known[-1]
    text = str(error) or type(error).__name__
    return h11.RemoteProtocolError(text) if isinstance(error, httpx.ProtocolError) else OSError(text)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what caused it."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for inner in error.exceptions:
                yield from _causes(inner)
        error = error.__cause__ or error.__context__
