"""Rows about media. They are refused today, so nothing may be fetched, opened or decoded."""

from __future__ import annotations

import base64
import os
import socket
import struct
import threading
import zlib
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from tests.robustness.rows import Attacks, Row
from tests.robustness.wire import DIALECTS, assert_refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.robustness.reference_process import ReferenceProcess

ATTACKS: Final = Attacks("media")
KINDS: Final = ("image_url", "video_url", "audio_url")


def refuse(server: ReferenceProcess, urls: list[str], kinds: tuple[str, ...] = KINDS[:1]) -> None:
    """Send messages with these media, and assert that each is refused with the name of its place."""
    for dialect in DIALECTS:
        for kind in kinds:
            for form in (lambda kind, url: {kind: url}, lambda kind, url: {kind: {"url": url}}):
                parts = [{"type": kind, **form(kind, url)} for url in urls]
                answer = server.post(dialect, content=[{"type": "text", "text": "Look"}, *parts])
                assert_refused(answer, dialect, server.status("invalid_request", dialect))
                assert "messages[0].content" in answer.message, answer.message


@contextmanager
def listener() -> Iterator[tuple[int, list[Any]]]:
    """Yield the port of a listener on all loopback addresses, and the list of its connections."""
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


@ATTACKS.row(22)
def private_addresses(server: ReferenceProcess, _: Row) -> None:
    hosts = (
        *("127.0.0.1", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "localhost"),
        *(r"example.org\@127.0.0.1", "example.org@127.0.0.1", "127.0.0.1.", "0.0.0.0"),
    )
    with listener() as (port, connections):
        for host in hosts:
            refuse(server, [f"http://{host}:{port}/x.png"])
    assert connections == []


@ATTACKS.row(23)
@ATTACKS.row(25)
def fetched_media(server: ReferenceProcess, _: Row) -> None:
    with listener() as (port, connections):
        refuse(server, [f"http://127.0.0.1:{port}/redirect-or-endless"], KINDS)
    assert connections == []


@ATTACKS.row(24)
def local_files(server: ReferenceProcess, _: Row) -> None:
    folder = server.temporary / "media"
    folder.mkdir()
    pipe, link = folder / "pipe", folder / "link"
    os.mkfifo(pipe)
    link.symlink_to("/etc/passwd")
    try:
        for path in ("/etc/passwd", f"{folder}/../media/pipe", str(pipe), str(link), "/dev/zero"):
            for url in (f"file://{path}", path):
                refuse(server, [url])
            with suppress(OSError):
                writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
                os.close(writer)
                raise AssertionError("the pipe was opened")
    finally:
        pipe.unlink()
        link.unlink()
        folder.rmdir()


@ATTACKS.row(26)
def many_images(server: ReferenceProcess, row: Row) -> None:
    refuse(server, [data_url(png(1, 1))] * row.values["images"])


@ATTACKS.row(27)
def image_bombs(server: ReferenceProcess, row: Row) -> None:
    size = row.values["pixels"]
    bomb = png(size, size)
    assert len(bomb) < 50_000
    for image in (bomb, png(1, 1), bomb[:1000], b"GIF89a" + bomb):
        refuse(server, [data_url(image)])


@ATTACKS.row(28)
def broken_codecs(server: ReferenceProcess, _: Row) -> None:
    data = b"\0\0\0\x18ftypmp42" + b"\xff" * 2000
    refuse(server, [data_url(data, "video/mp4"), data_url(data, "audio/wav")], KINDS[1:])


def data_url(data: bytes, kind: str = "image/png") -> str:
    """Return data as a URL."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def png(width: int, height: int) -> bytes:
    """Return a black image with one bit per pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(bytes((width + 7) // 8 + 1) * height, 9)
    size = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
