"""Map errors of a connection to a failure kind and a one-line explanation."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, Final

import h11

if TYPE_CHECKING:
    from conformance.client.request_builder import Origin
    from conformance.exchange import FailureKind

NO_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"})
"""OpenSSL's reasons for an answer that is not TLS."""


def explain_error(
    error: h11.RemoteProtocolError | OSError, origin: Origin, *, connected: bool, opened: bool
) -> tuple[FailureKind, str]:
    """Return the failure kind of an error and a line for the report. `opened`: the answer's headers had arrived."""
    host = origin[1]
    where = f"{host}:{origin[2]}"
    if isinstance(error, h11.RemoteProtocolError):
        if error.error_status_hint == 431 and not opened:  # h11's hint when a header exceeds its buffer
            return "too-large", f"the response header of {where} exceeds the limit of the client"
        return "protocol", f"the answer of {where} violates HTTP/1.1: {error}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return "tls", f"the certificate of {where} is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and not opened:
        hint = f": the server does not use TLS. Did you mean http://{where}?" if error.reason in NO_TLS else ""
        return "tls", f"TLS handshake with {where} failed: {error.reason or error}{hint}"
    if isinstance(error, socket.gaierror):
        return "connect", f"the name {host} cannot be resolved: {error.strerror}"
    if isinstance(error, ConnectionRefusedError):
        return "connect", f"{where} refuses connections: nothing listens there"
    if not connected:
        return "connect", f"cannot connect to {where}: {error}"
    return "reset", f"{where} closed the connection before the answer was complete"
