"""Giving up: a hopeless test ends before its time, with every report, and says why."""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from loadtests.cli.rate_search import Step
from loadtests.measure.abort_limits import Limits
from loadtests.tests.interface import patiently, text_of, web
from loadtests.tests.runs import forked, load
from loadtests.tests.scripted import GOOD, serving

if TYPE_CHECKING:
    from pathlib import Path

    from loadtests.tests.scripted import Script

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="as the other tests of whole load tests")
REFUSAL = b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"


def failing_after(good: int) -> Script:
    """A server that fails once it has answered so many."""
    left, lock = [good], threading.Lock()

    def script(peer: Any, _: bytes) -> None:
        with lock:
            left[0] -= 1
            fails = left[0] < 0
        threading.Event().wait(0.01)
        peer.sendall(REFUSAL if fails else GOOD)

    return script


@pytest.mark.parametrize(
    ("limits", "requests", "failures", "passed"),
    [
        (Limits(0.5, None, 10), 9, 9, None),
        (Limits(0.5, None, 10), 10, 5, None),
        (Limits(0.5, None, 10), 10, 6, "--give-up-share 0.5"),
        (Limits(0.0, None, 1), 1, 1, "--give-up-share 0"),
        (Limits(None, 3, 10), 3, 3, None),
        (Limits(None, 3, 10), 4, 4, "--give-up-count 3"),
        (Limits(0.5, 100, 10), 50, 30, "--give-up-share 0.5"),
    ],
)
def test_a_limit_is_passed_by_more_than_it_allows(
    limits: Limits, requests: int, failures: int, passed: str | None
) -> None:
    assert passed == limits.passed(requests, failures)


@pytest.mark.parametrize(
    ("arguments", "workers", "limit"),
    [
        (["--give-up-count", "9"], 0, "--give-up-count 9"),
        (["--give-up-share", "0.2", "--give-up-after", "20"], 0, "--give-up-share 0.2"),
        (["--give-up-count", "9", "--rate", "50"], 0, "--give-up-count 9"),
        (["--give-up-count", "9"], 2, "--give-up-count 9"),
    ],
)
def test_a_hopeless_test_ends_at_once_with_every_report(
    tmp_path: Path, arguments: list[str], workers: int, limit: str
) -> None:
    several = forked(workers) if workers else []
    with serving(failing_after(20)) as port:
        code, said, made = load(
            f"http://127.0.0.1:{port}", tmp_path, "--time", "90s", "--warm-up", "0s", *arguments, *several
        )
    assert (1, limit) == (code, made["given_up"]["limit"]), said
    assert made["load"]["measured_s"] < 90
    assert made["given_up"]["failures"] <= made["counts"]["failures"]
    report = (tmp_path / "report.html").read_text()
    for words in ("given up after ", f" of 90 s ({limit}): ", " requests failed"):
        assert words in said
        assert words in report
    assert made["counts"]["requests"] == len((tmp_path / "requests.csv").read_text().splitlines()) - 1
    assert "Traceback" not in said


def test_a_test_with_few_failures_is_not_given_up(url: str, tmp_path: Path) -> None:
    code, said, made = load(url, tmp_path, "--give-up-count", "0", "--give-up-share", "0", "--give-up-after", "1")
    assert (0, None) == (code, made["given_up"]), said


def test_the_web_interface_tells_of_a_hopeless_test_and_starts_the_next(url: str, tmp_path: Path) -> None:
    users = {"user_count": "3", "spawn_rate": "3"}
    with serving(failing_after(5)) as port, web(url, "--out", str(tmp_path)) as base:
        bad = {"host": f"http://127.0.0.1:{port}", "give_up_count": "4"}
        httpx.post(f"{base}/swarm", data=users | bad)
        patiently(f"{base}/chatproof", lambda text: "of 60 s (--give-up-count 4): " in text, text_of)
        patiently(f"{base}/stats/requests", lambda state: state == "stopped", lambda got: got.json()["state"])
        httpx.post(f"{base}/swarm", data=users | {"host": url, "give_up_count": ""})
        patiently(f"{base}/chatproof", lambda text: "running: 1 of 60 s" in text, text_of)
    assert json.loads((tmp_path / "results.json").read_text())["given_up"] is None


def test_a_rate_that_was_given_up_does_not_hold_however_well_it_had_begun() -> None:
    assert [True, False] == [
        Step(1.0, 1000, 1000, 1.0, met=True, saturated=False, given_up=given_up).holds(0.9)
        for given_up in (False, True)
    ]
