"""A host of media that also misbehaves, and a listener that nothing may reach."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, Self

from tests.robustness.media_files import png

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE: Final = bytes(65_536)


@contextmanager
def count_connections() -> Iterator[tuple[int, list[Any]]]:
    """Yield the port of a listener on all addresses of the machine, and the list of its connections."""
    connections: list[Any] = []
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connections.append(server.accept())

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server.getsockname()[1], connections
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


class MediaHost:
    """A server at an address; the first step of a path names what it does."""

    def __init__(self, address: str) -> None:
        self._server = ThreadingHTTPServer((address, 0), _Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._address = address

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def url(self, path: str) -> str:
        """Return the URL of a path."""
        return f"http://{self._address}:{self._server.server_port}/{path}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name, _, argument = self.path[1:].partition("/")
        with suppress(OSError):  # the server leaves as soon as it has read enough
            getattr(self, f"_answer_{name}")(argument)

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def _answer_file(self, argument: str) -> None:
        _, _, size = argument.partition("/")
        body = png(1, 1)
        body += bytes(max(0, int(size or 0) - len(body)))
        self._answer(200, body, Content_Length=str(len(body)))

    def _answer_to(self, location: str) -> None:
        self._answer(302, Location=location)

    def _answer_again(self, _: str) -> None:
        self._answer(302, Location="/again")

    def _answer_missing(self, _: str) -> None:
        self._answer(404, b"none")

    def _answer_broken(self, _: str) -> None:
        self._answer(200, b"\0\0\0\x18ftypmp42" + b"\xff" * 2000)

    def _answer_endless(self, _: str) -> None:
        self._answer(200)
        while True:
            self.wfile.write(PIECE)

    def _answer_claims(self, size: str) -> None:
        self._answer(200, PIECE, Content_Length=size)

    def _answer_short(self, _: str) -> None:
        self._answer(200, b"x", Content_Length="500")

    def _answer_packed(self, _: str) -> None:
        self._answer(200, PIECE, Content_Encoding="gzip")

    def _answer_silent(self, _: str) -> None:
        """Close the connection without an answer."""

    def _answer_slow(self, _: str) -> None:
        self._answer(200)
        while True:
            self.wfile.write(b"x")
            time.sleep(1)
