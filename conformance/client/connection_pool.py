"""Lines: the connections to servers, how they are opened, and which are kept for the next call."""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING, Final

import httpx

from conformance.client.connection import Connection

if TYPE_CHECKING:
    from conformance.client.origin import Origin

SETTLE_S: Final = 0.05  # before a connection is used again
NEXT_ADDRESS_S: Final = 2.0
"""So long one of several addresses of a name may take to let us in."""


class Lines:
    """Opens connections, and keeps one per line, the name that calls of one connection share.

    `verify` is httpx's: True for the usual authorities, False for none, or an SSLContext.
    """

    def __init__(self, verify: bool | ssl.SSLContext) -> None:
        self._verify = verify
        self._tls: ssl.SSLContext | None = None
        self._addresses: dict[Origin, list[str]] = {}
        self._kept: dict[str, Connection] = {}

    async def take(self, line: str | None) -> Connection:
        """The connection of a line, if it is still open, else a new one, not yet opened.

        What the server closes is given the time to be seen.
        """
        if line is None or line not in self._kept:
            return Connection()
        await asyncio.sleep(SETTLE_S)
        kept = self._kept.pop(line)
        if kept.reusable:
            return kept
        kept.close()
        return Connection()

    def give_back(self, line: str | None, connection: Connection) -> None:
        """Keeps a connection for the next call of its line, if it can be used again; else closes it."""
        if line is not None and connection.reusable:
            self._kept[line] = connection
        else:
            connection.close()

    def close(self) -> None:
        """Closes all that are kept."""
        for connection in self._kept.values():
            connection.close()

    async def open(self, connection: Connection, origin: Origin) -> None:
        """Opens it, to the address of the name that let us in before, else to the first that does."""
        scheme, host, port = origin
        tls = self.authorities() if scheme == "https" else None
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

    def authorities(self) -> ssl.SSLContext:
        """Whom to trust; read when first needed."""
        if self._tls is None:
            # What the environment says is not asked: it is not who tells us.
            self._tls = httpx.create_ssl_context(verify=self._verify, trust_env=False)
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


async def _resolve(host: str, port: int) -> list[str]:
    """The addresses of a name, best first. Raises socket.gaierror."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    scoped = (f"{at[0]}%{at[3]}" if len(at) == 4 and at[3] else str(at[0]) for *_, at in found)
    return list(dict.fromkeys(scoped))
