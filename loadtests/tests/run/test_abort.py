"""A test with too many failures is aborted, with every report and the reason."""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from loadtests.measure.abort_limits import AbortLimits
from loadtests.tests.load_runs import process_arguments, run_load_test
from loadtests.tests.scripted_server import GOOD, serving
from loadtests.tests.web_interface import get_text, run_web_interface, wait_for, wait_until_stopped

if TYPE_CHECKING:
    from pathlib import Path

    from loadtests.tests.scripted_server import Script

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the calibration server needs a timerfd")
ERROR = b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"


def failing_after(good: int) -> Script:
    """Return the script of a server that fails after a number of good answers."""
    left, lock = [good], threading.Lock()

    def script(peer: Any, _: bytes) -> None:
        with lock:
            left[0] -= 1
            fails = left[0] < 0
        threading.Event().wait(0.01)
        peer.sendall(ERROR if fails else GOOD)

    return script


@pytest.mark.parametrize(
    ("limits", "requests", "failures", "exceeded"),
    [
        (AbortLimits(0.5, None, 10), 9, 9, None),
        (AbortLimits(0.5, None, 10), 10, 5, None),
        (AbortLimits(0.5, None, 10), 10, 6, "--give-up-share 0.5"),
        (AbortLimits(0.0, None, 1), 1, 1, "--give-up-share 0"),
        (AbortLimits(None, 3, 10), 3, 3, None),
        (AbortLimits(None, 3, 10), 4, 4, "--give-up-count 3"),
        (AbortLimits(0.5, 100, 10), 50, 30, "--give-up-share 0.5"),
    ],
)
def test_a_limit_is_exceeded_by_more_failures_than_it_allows(
    limits: AbortLimits, requests: int, failures: int, exceeded: str | None
) -> None:
    assert exceeded == limits.exceeded(requests, failures)


@pytest.mark.takes_turns
@pytest.mark.parametrize(
    ("arguments", "workers", "limit"),
    [
        (["--give-up-count", "9"], 0, "--give-up-count 9"),
        (["--give-up-share", "0.2", "--give-up-after", "20"], 0, "--give-up-share 0.2"),
        (["--give-up-count", "9", "--rate", "50"], 0, "--give-up-count 9"),
        (["--give-up-count", "9"], 2, "--give-up-count 9"),
    ],
)
def test_a_test_with_too_many_failures_is_aborted_with_every_report(
    tmp_path: Path, arguments: list[str], workers: int, limit: str
) -> None:
    several = process_arguments(workers) if workers else []
    with serving(failing_after(20)) as port:
        code, output, results = run_load_test(
            f"http://127.0.0.1:{port}", tmp_path, "--time", "90s", "--warm-up", "0s", *arguments, *several
        )
    assert (1, limit) == (code, results["given_up"]["limit"]), output
    assert results["load"]["measured_s"] < 90
    assert results["given_up"]["failures"] <= results["counts"]["failures"]
    report = (tmp_path / "report.html").read_text()
    for text in ("aborted after ", f" of 90 s ({limit}): ", " requests failed"):
        assert text in output
        assert text in report
    assert results["counts"]["requests"] == len((tmp_path / "requests.csv").read_text().splitlines()) - 1
    assert "Traceback" not in output


def test_a_test_without_failures_is_not_aborted(url: str, tmp_path: Path) -> None:
    code, output, results = run_load_test(
        url, tmp_path, "--give-up-count", "0", "--give-up-share", "0", "--give-up-after", "1"
    )
    assert (0, None) == (code, results["given_up"]), output


def test_the_web_interface_shows_an_aborted_test_and_starts_the_next(url: str, tmp_path: Path) -> None:
    users = {"user_count": "3", "spawn_rate": "3"}
    with serving(failing_after(5)) as port, run_web_interface(url, "--out", str(tmp_path)) as base:
        bad = {"host": f"http://127.0.0.1:{port}", "give_up_count": "4"}
        httpx.post(f"{base}/swarm", data=users | bad)
        wait_for(f"{base}/chatproof", lambda text: "of 60 s (--give-up-count 4): " in text, get_text)
        wait_until_stopped(base)
        httpx.post(f"{base}/swarm", data=users | {"host": url, "give_up_count": ""})
        wait_for(f"{base}/chatproof", lambda text: "running: 1 of 60 s" in text, get_text)
    assert json.loads((tmp_path / "results.json").read_text())["given_up"] is None
