"""Breakage: what an error of a connection says about the server."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

import h11

if TYPE_CHECKING:
    from conformance.client.origin import Origin
    from conformance.exchange import FailureKind


def explain(
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
