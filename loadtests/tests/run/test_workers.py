"""Several processes, forked or started separately, send the same requests as one."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from loadtests.tests.load_runs import MODEL, process_arguments, run_load_test
from loadtests.tests.scripted_server import GOOD, serving

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the calibration server needs a timerfd")


def test_two_workers_send_the_same_requests_as_one_process(url: str, tmp_path: Path) -> None:
    """The workers are forked by --processes, or started separately as on other machines."""
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
        ("forked", process_arguments(2), 0),
        ("apart", ["--master", "--expect-workers", "2", "--master-bind-port", port], 2),
    ):
        started = [subprocess.Popen(worker, stdout=subprocess.DEVNULL) for _ in range(workers)]
        _, output, results = run_load_test(url, tmp_path / name, *plan, *more)
        assert results, output
        assert [0] * workers == [process.wait(60) for process in started]
        counts.append([results["counts"][name] for name in ("requests", "failures", "content_events", "tokens")])
        with (tmp_path / name / "requests.csv").open() as file:
            sent.append(sorted(int(line["number"]) for line in csv.DictReader(file)))
    assert [counts[0]] * 3 == counts
    assert [sent[0]] * 3 == sent


def test_a_worker_that_joins_late_sends_only_requests_that_no_other_sends(tmp_path: Path) -> None:
    """The loop is closed, so that Locust gives the worker users at once. The server identifies workers by their key."""
    sent: dict[str, list[str]] = {"early": [], "late": []}
    both = threading.Event()

    def script(peer: Any, request: bytes) -> None:
        mine = sent["late" if b"Bearer late" in request else "early"]
        mine.extend(re.findall(r"ref-[0-9a-f]{8}", request.decode()))
        if min(map(len, sent.values())) >= 20:
            both.set()
        time.sleep(0.01)
        peer.sendall(GOOD)

    with serving(script) as server, socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
        free.close()
        command = [sys.executable, "-m", "loadtests", f"http://127.0.0.1:{server}", "--dialect", "openai"]
        command += ["--users", "4", "--warm-up", "0s", "--time", "600s", "--api-key-env", "KEY", "--sample", "0"]

        def start(key: str, *more: str) -> subprocess.Popen[str]:
            arguments = [*command, "--out", str(tmp_path / key), *more]
            return subprocess.Popen(
                arguments, env=os.environ | {"KEY": key}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )

        master = start("master", "--master", "--expect-workers", "1", "--master-bind-port", port)
        workers = [start("early", "--worker", "--master-port", port)]
        try:
            while not sent["early"]:
                assert master.poll() is None
                time.sleep(0.05)
            workers.append(start("late", "--worker", "--master-port", port))
            assert both.wait(60)
        finally:
            master.send_signal(signal.SIGINT)
            output, _ = master.communicate(timeout=60)
            for worker in workers:
                worker.communicate(timeout=60)
    words = [*sent["early"], *sent["late"]]
    assert len(words) == len(set(words)), output
    with (tmp_path / "master" / "requests.csv").open() as file:
        numbers = [int(line["number"]) for line in csv.DictReader(file)]
    assert len(numbers) == len(set(numbers)) >= 40
    results = json.loads((tmp_path / "master" / "results.json").read_text())
    assert (130, []) == (results["exit_code"], [doubt["name"] for doubt in results["doubts"] if doubt["invalid"]])
