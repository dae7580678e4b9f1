"""A server in a thread that runs a script for each request, byte by byte."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

    Script = Callable[[Any, bytes], None]


def read_request(peer: Any) -> bytes:
    """Read one request with its body; b"" at the end of the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = peer.recv(65536)
        if not more:
            return b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    size = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < size:
        body += peer.recv(65536)
    return head + b"\r\n\r\n" + body


@contextlib.contextmanager
def serving(script: Script, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Listen on a loopback port, and run `script(peer, request)` for every request until it raises or closes."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    closing = threading.Event()

    def serve(plain: socket.socket) -> None:
        with (
            contextlib.suppress(OSError, ValueError),
            plain,
            tls.wrap_socket(plain, server_side=True) if tls else plain as peer,
        ):
            while request := read_request(peer):
                script(peer, request)

    def accept() -> None:
        while not closing.is_set():
            with contextlib.suppress(OSError):
                plain, _ = listener.accept()
                threading.Thread(target=serve, args=(plain,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        closing.set()
        with contextlib.suppress(OSError):  # wakes accept
            socket.create_connection(listener.getsockname(), timeout=1).close()
        listener.close()


def chunked(*pieces: bytes, head: bytes = b"Content-Type: text/event-stream\r\n") -> bytes:
    """Return a whole 200 answer with one HTTP chunk for each piece."""
    frames = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\n" + head + b"Transfer-Encoding: chunked\r\n\r\n" + frames + b"0\r\n\r\n"


def event(data: str) -> bytes:
    """Return an event."""
    return f"data: {data}\n\n".encode()


def content(text: str) -> bytes:
    """Return an event with content."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return event(json.dumps({"id": "c", "choices": [choice]}))


DONE = event("[DONE]")
GOOD = chunked(content("a"), content("b"), DONE)


def saying(data: bytes, *, close: bool = False) -> Script:
    """Answer every request with the same bytes."""

    def script(peer: Any, _: bytes) -> None:
        peer.sendall(data)
        if close:
            peer.shutdown(socket.SHUT_RDWR)
            peer.close()

    return script


def dripping(data: bytes, pause_s: float) -> Script:
    """Send the same bytes forever."""

    def script(peer: Any, _: bytes) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        while True:
            peer.sendall(data)
            time.sleep(pause_s)

    return script
