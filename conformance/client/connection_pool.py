"""Open connections to a server, and keep those that later calls share."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING, Final

import httpx

from conformance.client.connection import Connection

if TYPE_CHECKING:
    from conformance.client.request_builder import Origin

SETTLE_S: Final = 0.05
"""How long to wait before a connection is used again, so that a close by the server is noticed."""
NEXT_ADDRESS_S: Final = 2.0
"""How long to try one of several addresses of a host before the next one."""


class ConnectionPool:
    """Opens connections, and keeps one for each name that several calls share.

    `verify` is httpx's: True for the default certificate authorities, False for no verification, or an SSLContext.
    """

    def __init__(self, verify: bool | ssl.SSLContext) -> None:
        self._verify = verify
        self._tls: ssl.SSLContext | None = None
        self._addresses: dict[Origin, list[str]] = {}
        self._kept: dict[str, Connection] = {}

    async def acquire(self, name: str | None) -> Connection:
        """Return the kept connection of that name if it is still open, else a new one that is not yet open."""
        if name is None or name not in self._kept:
            return Connection()
        await asyncio.sleep(SETTLE_S)
        kept = self._kept.pop(name)
        if kept.reusable:
            return kept
        kept.close()
        return Connection()

    def release(self, name: str | None, connection: Connection) -> None:
        """Keep a reusable connection for the next call with that name; close it otherwise."""
        if name is not None and connection.reusable:
            self._kept[name] = connection
        else:
            connection.close()

    def close(self) -> None:
        """Close all kept connections."""
        for connection in self._kept.values():
            connection.close()

    async def open(self, connection: Connection, origin: Origin) -> None:
        """Open a connection to the address that worked before, else to the first one that works."""
        scheme, host, port = origin
        tls = self.load_tls() if scheme == "https" else None
        if origin not in self._addresses:
            self._addresses[origin] = await _resolve(host, port)
        *others, last = self._addresses[origin]
        for address in others:
            try:
                async with asyncio.timeout(NEXT_ADDRESS_S):
                    await connection.open(address, port, tls, host)
            except ssl.SSLError:
                raise
            except OSError:  # includes the timeout
                continue
            self._addresses[origin] = [address]
            return
        await connection.open(last, port, tls, host)

    def load_tls(self) -> ssl.SSLContext:
        """Return the TLS settings; the certificate authorities are read at the first call."""
        if self._tls is None:
            # SSL_CERT_FILE and the like are ignored: only the command line decides which authorities are trusted.
            self._tls = httpx.create_ssl_context(verify=self._verify, trust_env=False)
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


async def _resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host name, best first. Raises socket.gaierror."""
    infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    scoped = (f"{at[0]}%{at[3]}" if len(at) == 4 and at[3] else str(at[0]) for *_, at in infos)
    return list(dict.fromkeys(scoped))
