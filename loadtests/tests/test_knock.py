"""The knock: a load is put on no server that is not there, and one that is starting is waited for."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

import pytest

from loadtests.cli.reachability import knock, wait
from loadtests.errors import UnreachableError, UsageError
from loadtests.run.options import OPTIONS
from loadtests.run.settings import Settings, settings
from loadtests.tests.scripted import serving
from openapi import waiting

if TYPE_CHECKING:
    from loadtests.tests.scripted import Script

NOBODY = "http://127.0.0.1:9"
LOADING = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 7\r\n\r\nloading"
THERE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def of(url: str) -> Settings:
    values: dict[str, Any] = {option.name.replace("-", "_"): option.default for option in OPTIONS}
    return settings(Namespace(**values, host=url, seconds=1.0, warm_up=0.0, num_users=1))


def answering(*answers: bytes) -> tuple[Script, list[bytes]]:
    """Gives one answer after the other and the last one for ever; the requests that came."""
    asked: list[bytes] = []

    def script(peer: Any, request: bytes) -> None:
        asked.append(request)
        peer.sendall(answers[min(len(asked), len(answers)) - 1])

    return script, asked


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "KNOCK_S", 0.01)


def test_a_server_that_listens_is_found_whatever_it_says() -> None:
    script, asked = answering(LOADING)
    with serving(script) as port:
        knock(f"127.0.0.1:{port}")
        knock(f"http://127.0.0.1:{port}/v1/chat/completions")
    assert [] == asked


@pytest.mark.parametrize(
    ("url", "words"),
    [(NOBODY, "127.0.0.1:9 refuses connections"), ("http://[::1]:9", "[::1]:9 "), ("http://a.invalid", "a.invalid")],
)
def test_nobody_there_is_said_in_one_line_that_tells_of_the_option(url: str, words: str) -> None:
    with pytest.raises(UnreachableError) as caught:
        knock(url)
    assert words in str(caught.value)
    assert "--wait" in str(caught.value)


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(UsageError, match="no address of a server"):
        knock("http:/127.0.0.1:9")


def test_a_server_that_is_still_starting_is_waited_for() -> None:
    script, asked = answering(LOADING, LOADING, THERE)
    with serving(script) as port:
        wait(of(f"http://127.0.0.1:{port}/prefix"), 30.0)
    assert [b"GET /prefix/v1/models HTTP/1.1"] * 3 == [each.split(b"\r\n")[0] for each in asked]


def test_a_server_that_does_not_come_is_given_up_with_what_it_said_last() -> None:
    script, _ = answering(LOADING)
    with serving(script) as port, pytest.raises(UnreachableError) as caught:
        wait(of(f"http://127.0.0.1:{port}"), 0.05)
    assert "it answers 503: loading; waited 0.05 s for it (--wait)" == str(caught.value)
    with pytest.raises(UnreachableError, match="nothing listens there; waited"):
        wait(of(NOBODY), 0.05)
