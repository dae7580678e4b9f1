"""Rows about media, which the server takes from requests, from one folder and from one host."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tests.robustness.media_files import animation, data_url, png, wave
from tests.robustness.media_host import MediaHost, count_connections
from tests.robustness.rows import Attacks, Row
from tests.robustness.wire import DIALECTS, assert_refused

if TYPE_CHECKING:
    from tests.robustness.reference_process import ReferenceProcess
    from tests.robustness.wire import Answer

ATTACKS: Final = Attacks("media")
KINDS: Final = ("image_url", "video_url", "audio_url")
BY_STRING: Final = "mindie-2.3"
"""The dialect in which the value of a part's field is the URL or the path itself; in the other one it is an object."""
LISTENER: Final = "127.0.0.1"
"""An address that is not allowed; the allowed one is another loopback address."""


def send(server: ReferenceProcess, dialect: str, urls: list[str], kind: str = KINDS[0]) -> Answer:
    """Send a message with media in the form of a dialect."""
    parts = [{"type": kind, kind: url if dialect == BY_STRING else {"url": url}} for url in urls]
    return server.post(dialect, content=[{"type": "text", "text": "Look"}, *parts])


def refuse(server: ReferenceProcess, urls: list[str], kinds: tuple[str, ...] = KINDS[:1]) -> None:
    """Send messages with these media, and assert that each is refused with the name of its place."""
    for dialect in DIALECTS:
        for kind in kinds:
            answer = send(server, dialect, urls, kind)
            assert_refused(answer, dialect, server.status("invalid_request", dialect))
            assert "messages[0].content" in answer.message, answer.message


def accept(server: ReferenceProcess, urls: list[str], dialects: tuple[str, ...] = DIALECTS) -> None:
    """Send messages with these images, and assert that each is answered."""
    for dialect in dialects:
        answer = send(server, dialect, urls)
        assert answer.status == 200, answer.body


@ATTACKS.row(22)
def private_addresses(server: ReferenceProcess, _: Row) -> None:
    allowed = server.media_host
    hosts = (
        *(LISTENER, "169.254.169.254", "[::1]", f"[::ffff:{LISTENER}]", "0x7f.1", "2130706433", "localhost"),
        *(rf"{allowed}\@{LISTENER}", f"{allowed}@{LISTENER}", f"{allowed}.{LISTENER}", "0.0.0.0", f"{LISTENER}."),
    )
    with count_connections() as (port, connections):
        for host in hosts:
            refuse(server, [f"http://{host}:{port}/x.png"])
    assert connections == []


@ATTACKS.row(23)
def redirects(server: ReferenceProcess, _: Row) -> None:
    with count_connections() as (port, connections), MediaHost(server.media_host) as host:
        accept(server, [host.url("file/png"), host.url(f"to/{host.url('file/png')}")])
        for target in (f"http://{LISTENER}:{port}/", "http://169.254.169.254/", "file:///etc/passwd", "//[::1]/", ""):
            refuse(server, [host.url(f"to/{target}")], KINDS)
        refuse(server, [host.url("again")])
    assert connections == []


@ATTACKS.row(24)
def local_files(server: ReferenceProcess, _: Row) -> None:
    folder, outside = server.media_root, server.media_root.with_name("outside.png")
    pipe, link, sound, way_out = (folder / name for name in ("pipe", "link", "sound.png", "way"))
    os.mkfifo(pipe)
    outside.write_bytes(png(1, 1))
    sound.write_bytes(png(1, 1))
    link.symlink_to(outside)
    way_out.symlink_to(folder.parent)
    paths = ("/etc/passwd", f"{folder}/../outside.png", f"{way_out}/outside.png", "/way/outside.png", "/dev/zero")
    try:
        accept(server, [str(sound), "/sound.png", "file:///sound.png"], (BY_STRING,))
        for path in (*paths, str(pipe), str(link), str(folder), str(outside)):
            for url in (f"file://{path}", path):
                refuse(server, [url])
            with suppress(OSError):
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
                raise AssertionError("the pipe was opened and kept")
    finally:
        for made in (pipe, link, sound, way_out, outside):
            made.unlink()


@ATTACKS.row(25)
def misbehaving_hosts(server: ReferenceProcess, _: Row) -> None:
    with MediaHost(server.media_host) as host:
        for name in ("endless", "claims/99999999999", "short", "packed", "missing", "silent"):
            refuse(server, [host.url(name)])
        answer = send(server, BY_STRING, [host.url("slow")])
        assert_refused(answer, BY_STRING, server.status("invalid_request", BY_STRING))
        assert answer.seconds < 30, answer.seconds


@ATTACKS.row(26)
def many_images(server: ReferenceProcess, row: Row) -> None:
    answer = send(server, BY_STRING, [data_url(png(1, 1))] * row.values["images"])
    assert_refused(answer, BY_STRING, server.status("invalid_request", BY_STRING))
    with MediaHost(server.media_host) as host:
        answer = send(server, BY_STRING, [host.url(f"file/png/{row.values['bytes']}")])
    assert_refused(answer, BY_STRING, server.status("invalid_request", BY_STRING))
    assert str(row.values["bytes"] - 1) in answer.message


@ATTACKS.row(27)
def image_bombs(server: ReferenceProcess, row: Row) -> None:
    size = row.values["pixels"]
    bomb = png(size, size)
    assert len(bomb) < 50_000
    accept(server, [data_url(png(1, 1))])
    for image in (bomb, bomb[:1000], png(4, 4)[:40], b"GIF89a" + png(1, 1), b"\x89PNG\r\n\x1a\n", b"", b"text"):
        refuse(server, [data_url(image)])
    answer = send(server, "vllm", [data_url(animation(row.values["frames"]), "image/gif")])
    assert answer.status in (200, server.status("invalid_request", "vllm")), answer.body


@ATTACKS.row(28)
def broken_codecs(server: ReferenceProcess, row: Row) -> None:
    broken = b"\0\0\0\x18ftypmp42" + b"\xff" * 2000
    long = wave(row.values["hours"] * 3600)
    for kind, data, media_type in (
        (KINDS[1], broken, "video/mp4"),
        (KINDS[2], broken, "audio/wav"),
        (KINDS[2], wave(0), "audio/wav"),
        (KINDS[2], long, "audio/wav"),
    ):
        answer = send(server, "vllm", [data_url(data, media_type)], kind)
        assert_refused(answer, "vllm", server.status("invalid_request", "vllm"))
    with MediaHost(server.media_host) as host:
        for kind in KINDS[1:]:
            answer = send(server, BY_STRING, [host.url("broken")], kind)
            assert_refused(answer, BY_STRING, server.status("invalid_request", BY_STRING))
