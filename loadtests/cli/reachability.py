"""Check whether a server is reachable before load is sent to it, or wait until it has started."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from loadtests.errors import UnreachableError, UsageError
from loadtests.secret import redact, to_printable
from openapi import waiting
from openapi.address import AddressError, parse
from openapi.bounded_http import BoundedRequestError, send_bounded

if TYPE_CHECKING:
    import h11

    from loadtests.run.settings import LoadSettings

CONNECT_S: Final = 10.0
ANY_PATHS: Final = ("/v1/chat/completions", "/v1/models")
"""Host and port do not depend on the contract's paths."""
HINT: Final = "check the host and the port; --wait TIME waits for a server that is still starting"
MAX_BODY: Final = 200
"""The most bytes of an answer that an error message shows."""


def check_listening(url: str) -> None:
    """Open a connection and close it.

    Raise UnreachableError if no server listens, and UsageError if the address is invalid.
    """
    try:
        parts = urlsplit(parse(url, *ANY_PATHS).base)
    except AddressError as error:
        raise UsageError(str(error)) from error
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((host, port), CONNECT_S).close()
    except OSError as error:
        raise UnreachableError(f"{_describe_error(error, host, port)}; {HINT}") from error


def wait_until_ready(settings: LoadSettings, limit_s: float) -> None:
    """Wait until the server answers a request for its models with a status other than 502, 503 and 504.

    Raise UnreachableError with the result of the last attempt if it does not within `limit_s` seconds.
    """
    endpoint, left = settings.endpoint, waiting.StartupWait(limit_s)
    while True:
        try:
            status, body = _request_models(settings, left.attempt_timeout_s)
        except BoundedRequestError as error:
            cause = error.cause or TimeoutError()
            if isinstance(cause, ssl.SSLError):  # waiting does not help
                raise UnreachableError(f"TLS with {endpoint.authority} failed: {cause.reason or cause}") from error
            result = _describe_error(cause, endpoint.host, endpoint.port)
        else:
            if status not in waiting.NOT_READY_STATUSES:
                return
            text = " ".join(body.decode(errors="replace").split())
            result = f"the server answers {status}: {to_printable(redact(text, settings.secrets))}"
        if left.expired:
            raise UnreachableError(left.timeout_message(result))
        time.sleep(waiting.RETRY_INTERVAL_S)


def _request_models(settings: LoadSettings, timeout_s: float) -> tuple[int, bytes]:
    """Return the status and the beginning of the body. Raises BoundedRequestError without an answer."""
    endpoint = settings.endpoint
    path = endpoint.path.removesuffix(settings.contract.path) + settings.contract.models_path
    request = send_bounded(
        "GET",
        f"{'http' if endpoint.tls is None else 'https'}://{endpoint.authority}{path}",
        headers=[
            ("Host", endpoint.authority),
            ("Accept-Encoding", "identity"),
            *((header.name, header.value) for header in settings.headers),
        ],
        body=b"",
        deadline_s=timeout_s,
        verify=endpoint.tls or False,
        max_bytes=MAX_BODY,
    )
    answer = asyncio.run(request)
    return answer.status, answer.body


def _describe_error(error: OSError | h11.RemoteProtocolError, host: str, port: int) -> str:
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if isinstance(error, socket.gaierror):
        return f"cannot resolve the host name {host}: {error.strerror}"
    if isinstance(error, ConnectionRefusedError):
        return f"{where} refuses connections: nothing listens there"
    if isinstance(error, TimeoutError):
        return f"{where} does not answer"
    return f"{where} cannot be reached: {error or type(error).__name__}"
