"""Fetching of media from a checked address: bounded in size and time, without credentials."""

from __future__ import annotations

import mmap
import socket
import ssl
import time
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from threading import Timer
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from reference_server.media.address import MediaAddress, check_url, resolve_host
from reference_server.media.limits import MediaError

if TYPE_CHECKING:
    from collections.abc import Collection

    from reference_server.media.address import Resolve
    from reference_server.media.limits import MediaLimits

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
PART_BYTES: Final = 1 << 18
HEADERS: Final = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "chatproof", "Connection": "close"}
"""Everything that is sent: nothing of the client's request, and nothing that belongs to the server."""


def fetch(
    location: str,
    domains: Collection[str],
    limit_bytes: int,
    limits: MediaLimits,
    *,
    resolve: Resolve = resolve_host,
    tls: ssl.SSLContext | None = None,
) -> bytes:
    """Return the bytes at a URL; raise MediaError. Each redirect is checked like the URL itself.

    tls: context for https; None: certificates of the system.
    """
    deadline = time.monotonic() + limits.fetch_s
    for _ in range(limits.redirects + 1):
        address = check_url(location, domains, resolve)
        left = deadline - time.monotonic()
        if left <= 0:
            raise _too_slow(limits)
        try:
            answer = _get(address, limit_bytes, left, tls)
        except (OSError, HTTPException, ValueError) as error:
            if time.monotonic() >= deadline:
                raise _too_slow(limits) from None
            reason = type(error).__name__
            raise MediaError(f"the URL cannot be fetched ({reason})") from None
        if isinstance(answer, bytes):
            if time.monotonic() >= deadline:
                raise _too_slow(limits)
            if not answer:
                raise MediaError("the file is empty")
            return answer
        location = urljoin(location, answer)
    raise MediaError(f"the URL is redirected more than {limits.redirects} times")


def _get(address: MediaAddress, limit_bytes: int, left_s: float, tls: ssl.SSLContext | None) -> bytes | str:
    """Return the body of an answer, or the location that it redirects to."""
    opened = socket.create_connection((address.ip, address.port), timeout=left_s)
    with closing(opened):
        # Timeouts of a socket are per read: a server that sends a byte at a time would never exceed them.
        current = [opened]
        watch = Timer(left_s, _abort, [current])
        watch.daemon = True
        watch.start()
        try:
            stream: socket.socket | ssl.SSLSocket = opened
            if address.url.scheme == "https":
                context = tls or ssl.create_default_context()
                secure = context.wrap_socket(opened, server_hostname=address.host, do_handshake_on_connect=False)
                stream = current[0] = secure
                secure.do_handshake()
            with closing(stream):
                connection = HTTPConnection(address.host, address.port, timeout=left_s)
                connection.sock = stream
                connection.request("GET", address.target, headers=HEADERS)
                with closing(connection.getresponse()) as response:
                    return _read(response, limit_bytes)
        finally:
            watch.cancel()


def _read(response: HTTPResponse, limit_bytes: int) -> bytes | str:
    if response.status in REDIRECTS and (location := response.getheader("Location")):
        return location
    if response.status != 200:
        raise MediaError(f"the URL was answered with status {response.status}: expected 200")
    if response.getheader("Content-Encoding", "identity").lower() != "identity":
        raise MediaError("the answer of the URL is compressed")
    if response.length is not None and response.length > limit_bytes:
        raise _too_large(limit_bytes)
    # Pages of its own: the allocator would keep those of a refused file for the thread that read it.
    with mmap.mmap(-1, limit_bytes + 1) as pages, memoryview(pages) as buffer:
        size = 0
        while size <= limit_bytes and (count := _read_part(response, buffer[size : size + PART_BYTES])):
            size += count
        if size > limit_bytes:
            raise _too_large(limit_bytes)
        if response.length:  # the server closed the connection before the end
            raise MediaError("the answer of the URL is incomplete")
        return bytes(buffer[:size])


def _read_part(response: HTTPResponse, part: memoryview) -> int:
    """Read into a part of a buffer; return the number of bytes, 0 at the end."""
    with part:
        try:
            return response.readinto(part)
        except (OSError, HTTPException) as error:
            # The frames of the traceback hold views of the buffer, which could not be closed.
            raise error.with_traceback(None) from None


def _abort(current: list[socket.socket]) -> None:
    with suppress(OSError):
        current[0].shutdown(socket.SHUT_RDWR)


def _too_large(limit_bytes: int) -> MediaError:
    # An exception in a variable of its own frame would keep the bytes read until the next garbage collection.
    return MediaError(f"the file is larger than {limit_bytes} bytes")


def _too_slow(limits: MediaLimits) -> MediaError:
    return MediaError(f"the URL was not fetched within {limits.fetch_s:g} s")
