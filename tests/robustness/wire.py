"""Requests over plain sockets, their answers, and what every refusal has in common."""

from __future__ import annotations

import json
import re
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.contract import load
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DIALECTS: Final = ("vllm", "mindie-2.3")
MODEL: Final = "tiny"
PATIENCE_S: Final = 60.0
MOST_REPLY_BYTES: Final = 4096
LEAKS: Final = {
    "a path": r"(?:/[\w.-]+){2,}|\w+\.py\b",
    "an address": r"0x[0-9a-f]{6,}|\b\d+\.\d+\.\d+\.\d+\b",
    "a class name": r"\b\w*[a-z](?:Error|Exception)\b|<class ",
    "a traceback": r"Traceback|line \d+, in ",
}


@dataclass(frozen=True)
class Answer:
    """One HTTP response. status: 0 if the connection ended without a response."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float

    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """The message of an error, whatever the envelope."""
        error = self.json().get("error", self.json())
        return str(error.get("message") if isinstance(error, dict) else error)


def chat(content: Any = "Hello", /, **parameters: Any) -> bytes:
    """Return the body of a chat request."""
    content = parameters.pop("content", content)
    messages = [{"role": "user", "content": content}]
    return json.dumps({"model": MODEL, "messages": messages, "max_tokens": 2, **parameters}).encode()


def connect(address: str) -> socket.socket:
    """Connect to a server."""
    host, port = address.removeprefix("http://").split("/")[0].split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def head(method: str, path: str, headers: Mapping[str, str]) -> bytes:
    """Return the head of a request on a connection that the server closes."""
    lines = [f"{method} {path} HTTP/1.1", "Host: x", "Connection: close"]
    return "\r\n".join((*lines, *(f"{name}: {value}" for name, value in headers.items()), "", "")).encode()


def post(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """Send a POST request."""
    path = "/" + url.removeprefix("http://").partition("/")[2]
    return exchange(url, [head("POST", path, {**headers, "Content-Length": str(len(body))}), body])


def get(url: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> Answer:
    """Send a request without a body."""
    path = "/" + url.removeprefix("http://").partition("/")[2]
    return exchange(url, [head(method, path, headers or {})])


def exchange(url: str, pieces: Iterable[bytes]) -> Answer:
    """Send pieces of a request, and read until the server closes the connection. It may do so before it has all."""
    started = time.monotonic()
    with connect(url) as connection:
        with suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
        return read(connection, started)


def read(connection: socket.socket, started: float) -> Answer:
    """Read one response and everything after it until the connection ends."""
    received = b""
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            received += part
    start, _, body = received.partition(b"\r\n\r\n")
    first, *lines = start.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        body = b"".join(re.split(rb"(?:^|\r\n)[0-9a-f]+\r\n", body))
    status = int(first.split(" ")[1]) if first.startswith("HTTP/") else 0
    return Answer(status, headers, body, time.monotonic() - started)


def assert_refused(answer: Answer, dialect: str, status: int) -> None:
    """Assert that a response has this status and the dialect's envelope, is short, and reveals nothing."""
    shown = (answer.status, answer.body[:500])
    assert answer.status == status, shown
    assert len(answer.body) <= MOST_REPLY_BYTES, shown
    assert Validator(load(dialect)).problems("ErrorEnvelope", answer.json()) == (), shown
    assert answer.headers["content-type"] == "application/json", shown
    for what, pattern in LEAKS.items():
        assert re.search(pattern, answer.message) is None, (what, shown)
