"""A small HTTP server of the suite, from which the server under test fetches media files."""

from __future__ import annotations

import secrets
import struct
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from conformance.errors import UsageError
from conformance.plan.media import REDIRECT, TYPES, read_media

if TYPE_CHECKING:
    from collections.abc import Iterator

PART_BYTES: Final = 1 << 20
JUNK: Final = struct.Struct("<4sI")
"""The head of a chunk that readers of WAV skip."""
MOST_BYTES: Final = 1 << 30


@contextmanager
def serve_media(address: str | None) -> Iterator[str]:
    """Serve the media files until the context ends; yield host, port and path for URLs. Without an address: "".

    address: HOST or HOST:PORT of this machine, as the server under test reaches it.

    Files are below a path with a random name. `?bytes=N` pads a file with zeros to a size, and `redirect/` in front of
    a name redirects to the name. Raises UsageError if nothing can listen there.
    """
    if address is None:
        yield ""
        return
    host, _, port = address.rpartition(":") if address.rpartition(":")[2].isdigit() else (address, "", "0")
    token = secrets.token_urlsafe(12)
    try:
        server = ThreadingHTTPServer((host, int(port)), type("MediaHandler", (_Handler,), {"token": token}))
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"--media-host {address}: cannot listen there ({error}): expected HOST or HOST:PORT"
        ) from error
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True, name="media-host")
    thread.start()
    try:
        yield f"{host}:{server.server_port}/{token}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def begin_padding(data: bytes, size: int) -> bytes:
    """Return the beginning of a file whose rest is zeros up to a size in bytes.

    Most formats ignore what follows their content. Readers of WAV would look for chunks in it, eight bytes at a time
    and for seconds, so there the zeros are a chunk of their own.
    """
    padding = size - len(data) - len(JUNK.pack(b"", 0))
    if data[:4] != b"RIFF" or padding < 0:
        return data
    return data[:4] + struct.pack("<I", size - 8) + data[8:] + JUNK.pack(b"JUNK", padding)


class _Handler(BaseHTTPRequestHandler):
    token = ""

    def do_GET(self) -> None:
        """Send a file, padded to the size that the query asks for."""
        url = urlsplit(self.path)
        name = url.path.removeprefix(f"/{self.token}/")
        if name.startswith(f"{REDIRECT}/"):
            self.send_response(302)
            self.send_header("Location", f"/{self.token}/{name.removeprefix(f'{REDIRECT}/')}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        extension = name.rpartition(".")[2]
        try:
            if name == url.path or "/" in name or extension not in TYPES:
                raise FileNotFoundError(name)
            data = read_media(name)
        except OSError:
            self.send_error(404)
            return
        size = max(len(data), min(int(parse_qs(url.query).get("bytes", ["0"])[0]), MOST_BYTES))
        self.send_response(200)
        self.send_header("Content-Type", TYPES[extension][1])
        self.send_header("Content-Length", str(size))
        self.end_headers()
        data = begin_padding(data, size)
        self.wfile.write(data)
        for start in range(len(data), size, PART_BYTES):
            self.wfile.write(bytes(min(PART_BYTES, size - start)))

    def handle(self) -> None:
        """Answer requests; a server that refuses a large file may close the connection at any time."""
        with suppress(OSError):
            super().handle()

    def finish(self) -> None:
        """Close the connection."""
        with suppress(OSError):
            super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the standard library
        """Print nothing."""
