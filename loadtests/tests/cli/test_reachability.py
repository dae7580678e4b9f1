"""A server that is not reachable is reported before the test, and one that is starting is waited for."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

import pytest

from loadtests.cli.reachability import check_listening, wait_until_ready
from loadtests.errors import UnreachableError, UsageError
from loadtests.run.options import OPTIONS
from loadtests.run.settings import LoadSettings, build_settings
from loadtests.tests.scripted_server import serving
from openapi import waiting

if TYPE_CHECKING:
    from loadtests.tests.scripted_server import Script

CLOSED_PORT = "http://127.0.0.1:9"
LOADING = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 7\r\n\r\nloading"
READY = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def make_settings(url: str) -> LoadSettings:
    values: dict[str, Any] = {option.name.replace("-", "_"): option.default for option in OPTIONS}
    return build_settings(Namespace(**values, host=url, seconds=1.0, warm_up=0.0, num_users=1))


def answer_in_turn(*answers: bytes) -> tuple[Script, list[bytes]]:
    """Return a script that sends the answers in turn, then the last one forever, and the list of its requests."""
    requests: list[bytes] = []

    def script(peer: Any, request: bytes) -> None:
        requests.append(request)
        peer.sendall(answers[min(len(requests), len(answers)) - 1])

    return script, requests


@pytest.fixture(autouse=True)
def retry_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "RETRY_INTERVAL_S", 0.01)


def test_a_server_that_listens_is_reachable_without_a_request() -> None:
    script, requests = answer_in_turn(LOADING)
    with serving(script) as port:
        check_listening(f"127.0.0.1:{port}")
        check_listening(f"http://127.0.0.1:{port}/v1/chat/completions")
    assert [] == requests


@pytest.mark.parametrize(
    ("url", "text"),
    [
        (CLOSED_PORT, "127.0.0.1:9 refuses connections"),
        ("http://[::1]:9", "[::1]:9 "),
        ("http://a.invalid", "a.invalid"),
    ],
)
def test_an_unreachable_server_is_reported_with_the_option_to_wait(url: str, text: str) -> None:
    with pytest.raises(UnreachableError) as caught:
        check_listening(url)
    assert text in str(caught.value)
    assert "--wait" in str(caught.value)


def test_an_invalid_address_is_rejected() -> None:
    with pytest.raises(UsageError, match="invalid server address"):
        check_listening("http:/127.0.0.1:9")


def test_a_server_that_is_still_starting_is_waited_for() -> None:
    script, requests = answer_in_turn(LOADING, LOADING, READY)
    with serving(script) as port:
        wait_until_ready(make_settings(f"http://127.0.0.1:{port}/prefix"), 30.0)
    assert [b"GET /prefix/v1/models HTTP/1.1"] * 3 == [request.split(b"\r\n")[0] for request in requests]


def test_a_server_that_does_not_start_is_reported_with_its_last_answer() -> None:
    script, _ = answer_in_turn(LOADING)
    with serving(script) as port, pytest.raises(UnreachableError) as caught:
        wait_until_ready(make_settings(f"http://127.0.0.1:{port}"), 1.0)
    assert "the server answers 503: loading; waited 1 s for it (--wait)" == str(caught.value)
    with pytest.raises(UnreachableError, match="nothing listens there; waited"):
        wait_until_ready(make_settings(CLOSED_PORT), 1.0)
