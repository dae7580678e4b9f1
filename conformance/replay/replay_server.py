"""Serve recorded answers, byte for byte, from a server on the loopback interface."""

from __future__ import annotations

import socketserver
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.exchange import Exchange

FRAMING: Final = frozenset({"transfer-encoding", "content-length", "content-encoding", "connection", "keep-alive"})


@contextmanager
def serve_answers(exchanges: Sequence[Exchange]) -> Iterator[list[str]]:
    """Serve the answer of each exchange below a base URL of its own, and yield the base URLs in the same order.

    Segments are sent as they were recorded, and an answer that was cut off is cut off again. Of a request the server
    reads only the path, which selects the answer, and the length.
    """

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError, ValueError, IndexError):
                number = int(self.rfile.readline().split(b" ")[1].split(b"/")[1])
                length = 0
                while (line := self.rfile.readline().strip().lower()) != b"":
                    if line.startswith(b"content-length:"):
                        length = int(line.partition(b":")[2])
                self.rfile.read(length)
                for piece in _pieces(exchanges[number]):
                    self.wfile.write(piece)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            host, port = server.server_address[:2]
            yield [f"http://{host!s}:{port}/{number}" for number in range(len(exchanges))]
        finally:
            server.shutdown()
            thread.join()


def _pieces(exchange: Exchange) -> Iterator[bytes]:
    """Yield the response in the pieces in which it is written: the head, a chunk per segment, and the last chunk."""
    response = exchange.response
    if response is None:
        return
    headers = [f"{name}: {value}\r\n" for name, value in response.headers if name.lower() not in FRAMING]
    head = f"HTTP/1.1 {response.status} {response.reason}\r\n{''.join(headers)}"
    yield f"{head}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n".encode("latin-1", errors="replace")
    for segment in response.segments:
        if segment.data:
            yield b"%x\r\n%b\r\n" % (len(segment.data), segment.data)
    if response.complete:
        yield b"0\r\n\r\n"
