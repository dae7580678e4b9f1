"""Workers: several processes send what one would, forked or started apart."""

from __future__ import annotations

import csv
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from loadtests.tests.runs import MODEL, load

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the calibration server needs a timerfd")


def test_two_workers_send_what_one_process_sends(url: str, tmp_path: Path) -> None:
    """Forked by --processes, and started apart as on other machines."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    plan = ["--rate", "10", "--arrivals", "constant", "--max-requests", "15"]
    worker = [sys.executable, "-m", "loadtests", url, "--dialect", "openai", "--model", MODEL, *plan]
    worker += [
        "--warm-up",
        "500ms",
        "--time",
        "2s",
        "--worker",
        "--master-port",
        port,
        "--out",
        str(tmp_path / "worker"),
    ]
    counts, sent = [], []
    for name, more, workers in (
        ("one", [], 0),
        ("forked", ["--processes", "2"], 0),
        ("apart", ["--master", "--expect-workers", "2", "--master-bind-port", port], 2),
    ):
        started = [subprocess.Popen(worker, stdout=subprocess.DEVNULL) for _ in range(workers)]
        _, words, made = load(url, tmp_path / name, *plan, *more)
        assert made, words
        assert [0] * workers == [each.wait(60) for each in started]
        counts.append([made["counts"][name] for name in ("requests", "failures", "content_events", "tokens")])
        with (tmp_path / name / "requests.csv").open() as file:
            sent.append(sorted(int(line["number"]) for line in csv.DictReader(file)))
    assert [counts[0]] * 3 == counts
    assert [sent[0]] * 3 == sent
