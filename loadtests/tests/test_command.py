"""chatproof load as a user runs it: real processes, real sockets, exit codes and files."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from loadtests.tests.runs import load
from loadtests.tests.scripted import DONE, chunked, content, event, serving

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the calibration server needs a timerfd")
NAMED = ("content_events", "completion_tokens", "status", "failure")


def test_a_good_run_ends_with_0_and_writes_every_report(url: str, tmp_path: Path) -> None:
    code, words, made = load(url, tmp_path, "--objective", "ttft_p50=5s")
    assert 0 == code, words
    assert {"results.json", "report.html", "requests.csv", "locust_stats.csv"} <= {
        entry.name for entry in tmp_path.iterdir()
    }
    assert made["counts"]["content_events"] == made["counts"]["tokens"] == 20 * made["counts"]["requests"] > 0
    assert 20 <= made["latencies_ms"]["TTFT"]["min"]
    assert [] == made["conformance"]["findings"]
    with (tmp_path / "requests.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert made["counts"]["requests"] == len(lines)
    assert {("20", "20", "200", "")} == {tuple(line[name] for name in NAMED) for line in lines}


def test_a_missed_objective_ends_with_3_after_the_last_answer_of_a_shape(url: str, tmp_path: Path) -> None:
    code, words, made = load(url, tmp_path, "--objective", "ttft_p50=1ms", "--shape", "steps", "--warm-up", "0s")
    assert 3 == code, words
    assert 0 == made["counts"]["interrupted"]
    assert [False] == [objective["met"] for objective in made["objectives"]]


def test_a_dead_server_is_told_before_the_test_and_counted_by_it(tmp_path: Path) -> None:
    code, said, made = load("http://127.0.0.1:9", tmp_path)
    assert (1, ["connect"]) == (code, [failure["kind"] for failure in made["failures"]])
    assert ["warm-up"] == [doubt["name"] for doubt in made["doubts"]]
    assert "127.0.0.1:9 refuses connections: nothing listens there; --wait S" in said
    assert "nothing answers at http://127.0.0.1:9: [Errno " in said
    assert "Traceback" not in said


def test_a_server_that_does_not_come_in_time_gets_no_load(tmp_path: Path) -> None:
    code, said, made = load("http://127.0.0.1:9", tmp_path, "--wait", "1s")
    assert (1, {}) == (code, made)
    assert "nothing listens there; waited 1 s for it (--wait)" in said


def test_a_search_ends_where_nothing_is_answered(tmp_path: Path) -> None:
    def deaf(peer: Any, _: bytes) -> None:
        peer.close()

    with serving(deaf) as port:
        command = [sys.executable, "-c", "from loadtests.cli.search_command import search; search()"]
        command += [f"http://127.0.0.1:{port}", "--objective", "ttft_p50=1s", "--share", "0.5", "--from", "10"]
        command += ["--time", "1s", "--warm-up", "0s", "--out", str(tmp_path)]
        made = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert 1 == made.returncode, made.stderr
    assert "requests succeeded: " in made.stdout


def test_an_interrupt_in_mid_stream_keeps_what_was_measured(tmp_path: Path) -> None:
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
            said, _ = process.communicate(timeout=60)
    made = json.loads((tmp_path / "results.json").read_text())
    assert (2, 0) == (made["counts"]["interrupted"], made["counts"]["requests"])
    assert 2 == made["latencies_ms"]["TTFT"]["count"]
    assert 100 < made["latencies_ms"]["ITL"]["count"]
    assert "Traceback" not in said


def test_a_server_that_repeats_an_event_under_load_is_reported(tmp_path: Path) -> None:
    """Honest for few streams: only many at a time make it send an event twice."""
    lock, streams = threading.Lock(), [0]
    usage = event('{"id":"c","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}')
    finish = event('{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}')

    def script(peer: Any, _: bytes) -> None:
        with lock:
            streams[0] += 1
            crowded = streams[0] > 20
        pieces = [content("a"), content("b"), *([content("b")] if crowded else []), finish, usage, DONE]
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
        few = load(address, tmp_path / "few", "--users", "4", "--sample", "1")
        many = load(address, tmp_path / "many", "--users", "40", "--sample", "1")
    assert (0, []) == (few[0], few[2]["conformance"]["findings"])
    assert (1, ["repeated-events"]) == (many[0], [finding["rule"] for finding in many[2]["conformance"]["findings"]])
