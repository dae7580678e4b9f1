"""The knock: whether a server is there, before a load is put on it, for a line that is read before the report."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from loadtests.errors import UnreachableError, UsageError
from loadtests.secret import hidden, plain
from openapi import waiting
from openapi.address import AddressError, parse

if TYPE_CHECKING:
    from loadtests.run.settings import Settings

CONNECT_S: Final = 10.0
ANY_PATHS: Final = ("/v1/chat/completions", "/v1/models")
"""Host and port are the same by any contract."""
HINT: Final = "--wait S waits for a server that is still starting"
SHOWN: Final = 200
"""Bytes of an answer that are looked at."""


def knock(url: str) -> None:
    """Opens a connection and closes it. Raises UnreachableError where nothing listens, UsageError for no address."""
    try:
        parts = urlsplit(parse(url, *ANY_PATHS).base)
    except AddressError as error:
        raise UsageError(str(error)) from error
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((host, port), CONNECT_S).close()
    except OSError as error:
        raise UnreachableError(f"{_why(error, host, port)}; {HINT}") from error


def wait(settings: Settings, most_s: float) -> None:
    """Waits until the server answers the question for its models otherwise than with 502, 503 or 504.

    Raises UnreachableError when it has not within `most_s` seconds; the last try says why.
    """
    origin, left = settings.origin, waiting.Waiting(most_s)
    while True:
        try:
            status, body = _ask(settings, left.deadline_s)
        except ssl.SSLError as error:  # waiting mends no certificate
            raise UnreachableError(f"no TLS with {origin.authority}: {error.reason or error}") from error
        except (OSError, http.client.HTTPException) as error:
            why = _why(error, origin.host, origin.port)
        else:
            if status not in waiting.ABSENT:
                return
            said = " ".join(body.decode(errors="replace").split())
            why = f"it answers {status}: {plain(hidden(said, settings.secrets))}"
        if left.over:
            raise UnreachableError(left.given_up(why))
        time.sleep(waiting.KNOCK_S)


def _ask(settings: Settings, deadline_s: float) -> tuple[int, bytes]:
    origin = settings.origin
    path = settings.origin.path.removesuffix(settings.contract.path) + settings.contract.models_path
    asked: http.client.HTTPConnection
    if origin.tls is None:
        asked = http.client.HTTPConnection(origin.host, origin.port, timeout=deadline_s)
    else:
        asked = http.client.HTTPSConnection(origin.host, origin.port, timeout=deadline_s, context=origin.tls)
    try:
        asked.request("GET", path, headers={header.name: header.value for header in settings.headers})
        answer = asked.getresponse()
        return answer.status, answer.read(SHOWN)
    finally:
        asked.close()


def _why(error: OSError | http.client.HTTPException, host: str, port: int) -> str:
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if isinstance(error, socket.gaierror):
        return f"the name {host} cannot be resolved: {error.strerror}"
    if isinstance(error, ConnectionRefusedError):
        return f"{where} refuses connections: nothing listens there"
    if isinstance(error, TimeoutError):
        return f"{where} does not answer"
    return f"{where} cannot be asked: {error or type(error).__name__}"
