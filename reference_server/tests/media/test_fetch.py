"""Fetching: bounded in bytes and seconds, every redirect checked, one address, no credentials."""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.media.fetch import fetch
from reference_server.media.limits import MediaError, MediaLimits

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 1000
LIMITS = MediaLimits(fetch_s=2.0)
LOOPBACK = {"127.0.0.1"}


class _MediaHost(BaseHTTPRequestHandler):
    """A host of media that also misbehaves, by the path."""

    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        self.seen.append({name.lower(): value for name, value in self.headers.items()})
        name, _, argument = self.path[1:].partition("/")
        getattr(self, f"answer_{name}")(argument)

    def handle(self) -> None:
        with suppress(OSError):  # the client leaves as soon as it has read enough
            super().handle()

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def _send(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def answer_file(self, size: str) -> None:
        self._send(200, {"Content-Length": size}, b"x" * int(size))

    def answer_unsized(self, size: str) -> None:
        self._send(200, {}, b"x" * int(size))

    def answer_to(self, location: str) -> None:
        self._send(302, {"Location": location, "Set-Cookie": "a=b"})

    def answer_again(self, _: str) -> None:
        self._send(302, {"Location": "/again"})

    def answer_missing(self, _: str) -> None:
        self._send(404, {}, b"none")

    def answer_packed(self, _: str) -> None:
        self._send(200, {"Content-Encoding": "gzip"}, b"x")

    def answer_short(self, _: str) -> None:
        self._send(200, {"Content-Length": "500"}, b"x" * 10)

    def answer_reset(self, size: str) -> None:
        """Reset the connection after the first byte."""
        self._send(200, {"Content-Length": size}, b"x")
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def answer_slow(self, _: str) -> None:
        self.send_response(200)
        self.end_headers()
        for _part in range(40):
            try:
                self.wfile.write(b"x")
                self.wfile.flush()
            except OSError:
                return
            time.sleep(0.1)


@pytest.fixture
def host() -> Iterator[ThreadingHTTPServer]:
    """A server on the loopback interface, which the tests allow by its address."""
    handler = type("Handler", (_MediaHost,), {"seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def at(host: ThreadingHTTPServer, path: str) -> str:
    return f"http://127.0.0.1:{host.server_port}/{path}"


@pytest.mark.parametrize("path", [f"file/{LIMIT}", f"unsized/{LIMIT}", "file/1", "to//file/7"])
def test_a_file_within_the_limit_is_fetched(host: ThreadingHTTPServer, path: str) -> None:
    assert set(fetch(at(host, path), LOOPBACK, LIMIT, LIMITS)) == {ord("x")}


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (f"file/{LIMIT + 1}", "larger than"),
        (f"unsized/{LIMIT + 1}", "larger than"),
        ("unsized/5000000", "larger than"),
        ("file/0", "empty"),
        ("missing/", "status 404"),
        ("packed/", "compressed"),
        ("short/", "incomplete|IncompleteRead"),
        ("reset/500", "cannot be fetched .ConnectionResetError."),
        ("again/", "redirected more than 3 times"),
        ("to/http://127.0.0.2/", "not one that the operator allows"),
        ("to/http://[::1]/", "not one that the operator allows"),
        ("to/http://169.254.169.254/latest/meta-data", "not one that the operator allows"),
        ("to/file:///etc/passwd", "invalid URL"),
        ("to/gopher://127.0.0.1/", "invalid URL"),
    ],
)
def test_other_answers_are_refused(host: ThreadingHTTPServer, path: str, reason: str) -> None:
    with pytest.raises(MediaError, match=reason):
        fetch(at(host, path), LOOPBACK, LIMIT, LIMITS)


def test_a_server_that_sends_a_byte_at_a_time_is_cut_off_at_the_deadline(host: ThreadingHTTPServer) -> None:
    started = time.monotonic()
    with pytest.raises(MediaError, match=r"not fetched within 0.5 s"):
        fetch(at(host, "slow/"), LOOPBACK, LIMIT, replace(LIMITS, fetch_s=0.5))
    assert time.monotonic() - started < 2.0


def test_the_address_is_resolved_once_so_that_a_name_cannot_move_before_the_connection(
    host: ThreadingHTTPServer,
) -> None:
    answers = [["127.0.0.1"], ["10.0.0.1"]]
    fetched = fetch(
        f"http://media.example:{host.server_port}/file/3",
        {"media.example", "127.0.0.1"},
        LIMIT,
        LIMITS,
        resolve=lambda _host, _port: answers.pop(0),
    )
    assert (fetched, answers) == (b"xxx", [["10.0.0.1"]])


def test_a_name_that_moves_between_redirects_is_refused(host: ThreadingHTTPServer) -> None:
    answers = [["127.0.0.1"], ["10.0.0.1"]]
    with pytest.raises(MediaError, match="not public"):
        fetch(
            f"http://media.example:{host.server_port}/to//file/3",
            {"media.example", "127.0.0.1"},
            LIMIT,
            LIMITS,
            resolve=lambda _host, _port: answers.pop(0),
        )


def test_no_credentials_and_no_cookies_are_sent_also_after_a_redirect(
    host: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    fetch(at(host, "to//file/3"), LOOPBACK, LIMIT, LIMITS)
    seen = host.RequestHandlerClass.seen  # type: ignore[attr-defined]
    assert [set(headers) for headers in seen] == [{"host", "accept", "accept-encoding", "user-agent", "connection"}] * 2
