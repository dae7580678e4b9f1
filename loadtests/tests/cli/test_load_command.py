"""`chatproof load` as a user runs it: real processes, real sockets, exit codes and files."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from loadtests.tests.load_runs import run_load_test
from loadtests.tests.scripted_server import DONE, chunked, content, event, serving

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the calibration server needs a timerfd")
COLUMNS = ("content_events", "completion_tokens", "status", "failure")


def test_a_good_run_ends_with_0_and_writes_every_report(url: str, tmp_path: Path) -> None:
    code, output, results = run_load_test(url, tmp_path, "--objective", "ttft_p50=5s")
    assert 0 == code, output
    assert {"results.json", "report.html", "requests.csv", "locust_stats.csv"} <= {
        entry.name for entry in tmp_path.iterdir()
    }
    assert results["counts"]["content_events"] == results["counts"]["tokens"] == 20 * results["counts"]["requests"] > 0
    assert 20 <= results["latencies_ms"]["TTFT"]["min"]
    assert [] == results["conformance"]["findings"]
    with (tmp_path / "requests.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert results["counts"]["requests"] == len(lines)
    assert {("20", "20", "200", "")} == {tuple(line[name] for name in COLUMNS) for line in lines}


def test_a_missed_objective_ends_with_3_after_the_last_answer_of_a_shape(url: str, tmp_path: Path) -> None:
    code, output, results = run_load_test(
        url, tmp_path, "--objective", "ttft_p50=1ms", "--shape", "steps", "--warm-up", "0s"
    )
    assert 3 == code, output
    assert 0 == results["counts"]["interrupted"]
    assert [False] == [objective["met"] for objective in results["objectives"]]


def test_an_unreachable_server_is_reported_before_the_test_and_counted_by_it(tmp_path: Path) -> None:
    code, output, results = run_load_test("http://127.0.0.1:9", tmp_path)
    assert (1, ["connect"]) == (code, [failure["kind"] for failure in results["failures"]])
    assert ["warm-up"] == [doubt["name"] for doubt in results["doubts"]]
    assert "127.0.0.1:9 refuses connections: nothing listens there; check the host" in output
    assert "cannot connect to http://127.0.0.1:9: [Errno " in output
    assert "Traceback" not in output


def test_a_server_that_does_not_start_in_time_gets_no_load(tmp_path: Path) -> None:
    code, output, results = run_load_test("http://127.0.0.1:9", tmp_path, "--wait", "1s")
    assert (1, {}) == (code, results)
    assert "nothing listens there; waited 1 s for it (--wait)" in output


def test_a_search_ends_if_no_request_is_answered(tmp_path: Path) -> None:
    def close(peer: Any, _: bytes) -> None:
        peer.close()

    with serving(close) as port:
        command = [sys.executable, "-c", "from loadtests.cli.search_command import search; search()"]
        command += [
            f"http://127.0.0.1:{port}",
            "--dialect",
            "openai",
            "--objective",
            "ttft_p50=1s",
            "--share",
            "0.5",
            "--from",
            "10",
        ]
        command += ["--time", "1s", "--warm-up", "0s", "--out", str(tmp_path)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert 1 == run.returncode, run.stderr
    assert re.search(r"(\d+) of \1 requests? failed: no-answer: ", run.stdout)


def test_an_interrupt_during_a_stream_keeps_what_was_measured(tmp_path: Path) -> None:
    seen = threading.Event()

    def endless(peer: Any, _: bytes) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        for number in range(10**6):
            peer.sendall(content("a"))
            seen.wait(0.001)
            if number == 200:
                seen.set()

    with serving(endless) as port:
        command = [sys.executable, "-m", "loadtests", f"http://127.0.0.1:{port}", "--dialect", "openai", "--users", "2"]
        command += ["--warm-up", "0s", "--time", "600s", "--out", str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            assert seen.wait(60)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=60)
    results = json.loads((tmp_path / "results.json").read_text())
    assert (2, 0) == (results["counts"]["interrupted"], results["counts"]["requests"])
    assert 2 == results["latencies_ms"]["TTFT"]["count"]
    assert 100 < results["latencies_ms"]["ITL"]["count"]
    assert "Traceback" not in output
    assert (130, 130) == (process.returncode, results["exit_code"])
    assert re.search(r"interrupted after [\d.]+ of 600 s; the figures are of this time \(exit code 130\)", output)
    assert "interrupted after" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.takes_turns
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_test_with_one_report_and_each_request_on_one_line(tmp_path: Path, number: int) -> None:
    """Also if a report takes a while to be sent: Locust ends the process from two places at a time."""
    enough, sent, telemetry = threading.Event(), [0], []

    def answer(peer: Any, request: bytes) -> None:
        if b"/otlp" in request:
            telemetry.append(request)
            time.sleep(0.5)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            return
        usage = event('{"id":"c","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}')
        finish = event('{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}')
        peer.sendall(chunked(content("a"), finish, usage, DONE))
        sent[0] += 1
        if sent[0] > 20:
            enough.set()

    with serving(answer) as port:
        url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "loadtests", url, "--dialect", "openai", "--users", "2", "--warm-up", "0s"]
        command += ["--time", "600s", "--out", str(tmp_path), "--report", f"otlp={url}/otlp"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            assert enough.wait(60)
            process.send_signal(number)
            output, _ = process.communicate(timeout=60)
    results = json.loads((tmp_path / "results.json").read_text())
    lines = (tmp_path / "requests.csv").read_text().splitlines()
    assert (130, 1, 1) == (process.returncode, output.count("interrupted after"), len(telemetry)), output
    assert len(set(lines)) == len(lines) == results["counts"]["requests"] + 1


def test_a_server_that_repeats_an_event_under_load_is_reported(tmp_path: Path) -> None:
    """It is correct with few streams, and sends an event twice only with many at a time."""
    lock, streams = threading.Lock(), [0]
    usage = event('{"id":"c","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}')
    finish = event('{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}')

    def script(peer: Any, _: bytes) -> None:
        with lock:
            streams[0] += 1
            overloaded = streams[0] > 20
        pieces = [content("a"), content("b"), *([content("b")] if overloaded else []), finish, usage, DONE]
        try:
            answer = chunked(*pieces)
            peer.sendall(answer[:40])
            threading.Event().wait(0.2)
            peer.sendall(answer[40:])
        finally:
            with lock:
                streams[0] -= 1

    with serving(script) as port:
        address = f"http://127.0.0.1:{port}"
        few = run_load_test(address, tmp_path / "few", "--users", "4", "--sample", "1")
        many = run_load_test(address, tmp_path / "many", "--users", "40", "--sample", "1")
    assert (0, []) == (few[0], few[2]["conformance"]["findings"])
    assert (1, ["repeated-events"]) == (many[0], [finding["rule"] for finding in many[2]["conformance"]["findings"]])
