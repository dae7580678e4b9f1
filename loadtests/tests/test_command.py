"""chatproof load as a user runs it: real processes, real sockets, exit codes and files."""

from __future__ import annotations

import csv
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from click.testing import CliRunner

from loadtests.command import Duration
from loadtests.command import load as load_command
from loadtests.passed_on import sorted_out
from loadtests.search_command import search
from loadtests.tests.scripted import DONE, chunked, content, event, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click import Command

    from openapi.contract import Contract

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the calibration server needs a timerfd")
NAMED = ("content_events", "completion_tokens", "status", "failure")
MODEL = "schedule-T20-D5-N20"


@contextmanager
def scheduled() -> Iterator[str]:
    command = [sys.executable, "-m", "loadtests.schedule_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield (process.stdout.readline() if process.stdout else "").strip()
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with scheduled() as found:
        yield found


def load(url: str, out: Path, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    command = [sys.executable, "-m", "loadtests", url, "--dialect", "openai", "--model", MODEL]
    command += ["--warm-up", "500ms", "--time", "2s", "--users", "3", "--out", str(out), *arguments]
    made = subprocess.run(command, capture_output=True, text=True, timeout=120)
    file = out / "results.json"
    return made.returncode, made.stdout + made.stderr, json.loads(file.read_text()) if file.exists() else {}


def test_a_good_run_ends_with_0_and_writes_every_report(url: str, tmp_path: Path) -> None:
    code, words, made = load(url, tmp_path, "--objective", "ttft_p50=5s")
    assert 0 == code, words
    assert {"results.json", "report.html", "requests.csv", "locust_stats.csv"} <= {
        each.name for each in tmp_path.iterdir()
    }
    assert made["counts"]["content_events"] == made["counts"]["tokens"] == 20 * made["counts"]["requests"] > 0
    assert 20 <= made["latencies_ms"]["TTFT"]["min"]
    assert [] == made["conformance"]["findings"]
    with (tmp_path / "requests.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert made["counts"]["requests"] == len(lines)
    assert {("20", "20", "200", "")} == {tuple(each[name] for name in NAMED) for each in lines}


def test_a_missed_objective_ends_with_3_after_the_last_answer_of_a_shape(url: str, tmp_path: Path) -> None:
    code, words, made = load(url, tmp_path, "--objective", "ttft_p50=1ms", "--shape", "steps", "--warm-up", "0s")
    assert 3 == code, words
    assert 0 == made["counts"]["interrupted"]
    assert [False] == [each["met"] for each in made["objectives"]]


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rate", "0"], "--rate"),
        (["--objective", "fast"], "--objective"),
        (["--scenario", "nowhere.yaml"], "--scenario"),
        (["--dialect", "nobody"], "nobody"),
        (["--time", "soon"], "soon"),
    ],
)
def test_a_wrong_option_ends_with_2_and_one_line(url: str, tmp_path: Path, arguments: list[str], words: str) -> None:
    code, said, _ = load(url, tmp_path, *arguments)
    assert 2 == code
    assert words in said
    assert "Traceback" not in said


@pytest.mark.parametrize("command", [load_command, search])
@pytest.mark.parametrize(
    "wrong",
    [
        ["--rate", "0"],
        ["--objective", "fast=1"],
        ["--scenario", "no.yaml"],
        ["--out", f"{__file__}/under"],
        ["--proceses", "2"],
        ["--master-port", "many"],
        ["elsewhere", "--host", "http://127.0.0.1:9"],
        [""],
        ["", "--wait", "9"],
        ["--rate", "inf"],
        ["--think", "nan"],
        ["--max-requests", "0"],
        ["--max-in-flight", "0"],
        ["--time", "0s"],
        ["--processes", "100000"],
        ["--burstiness", "2"],
        ["--insecure", "--ca-file", "x"],
    ],
)
def test_a_wrong_option_is_refused_before_the_embedded_server_starts(command: Command, wrong: list[str]) -> None:
    def embedded(_: Contract) -> Any:
        raise AssertionError("started")

    made = CliRunner().invoke(command, ["--objective", "ttft=1s", *wrong], obj=embedded)
    assert 2 == made.exit_code
    assert wrong[0] in made.output
    assert 1 == made.output.count("Error:")


@pytest.mark.parametrize(
    ("url", "more", "found"),
    [
        (None, (), (None, ())),
        ("http://a", ("--processes", "2"), ("http://a", ("--processes", "2"))),
        ("--processes", ("2", "http://a"), ("http://a", ("--processes", "2"))),
        ("--host=http://a", (), ("http://a", ("--host=http://a",))),
    ],
)
def test_the_url_may_stand_after_options_of_locust(
    url: str | None, more: tuple[str, ...], found: tuple[str | None, tuple[str, ...]]
) -> None:
    assert found == sorted_out(url, more)


@pytest.mark.parametrize("wrong", [["--arrivals", "gamma"], ["--think", "1", "--rate", "1"]])
def test_an_option_that_another_one_makes_void_is_refused(wrong: list[str]) -> None:
    made = CliRunner().invoke(load_command, wrong, obj=lambda _: None)
    assert (2, True) == (made.exit_code, wrong[0] in made.output)


@pytest.mark.parametrize(
    "wrong", [["--rate", "1"], ["--trace", "x"], ["--shape", "ramp"], ["--from", "9", "--to", "2"]]
)
def test_a_search_takes_nothing_that_decides_its_rates(wrong: list[str]) -> None:
    made = CliRunner().invoke(search, ["--objective", "ttft=1s", *wrong], obj=lambda _: None)
    assert (2, True) == (made.exit_code, wrong[0] in made.output)


def test_a_folder_that_cannot_hold_the_reports_is_refused_before_locust_starts(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    (tmp_path / "file").touch()
    for out, words in ((tmp_path, "report.html there cannot be replaced"), (tmp_path / "file", "no folder")):
        made = CliRunner().invoke(load_command, ["http://127.0.0.1:9", "--out", str(out)])
        assert (2, 1) == (made.exit_code, made.output.count(words))


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("1m30s", 90), ("500ms", 0.5), ("1.5h", 5400)])
def test_a_time_is_read_with_its_units(text: str, seconds: float) -> None:
    assert seconds == Duration().convert(text, None, None)


def test_a_dead_server_is_told_before_the_test_and_counted_by_it(tmp_path: Path) -> None:
    code, said, made = load("http://127.0.0.1:9", tmp_path)
    assert (1, ["connect"]) == (code, [each["kind"] for each in made["failures"]])
    assert ["warm-up"] == [each["name"] for each in made["doubts"]]
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
        command = [sys.executable, "-c", "from loadtests.search_command import search; search()"]
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
    assert (1, ["repeated-events"]) == (many[0], [each["rule"] for each in many[2]["conformance"]["findings"]])


@contextmanager
def web(url: str, *arguments: str) -> Iterator[str]:
    """Locust's web interface on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "loadtests", url, "--dialect", "openai", "--model", MODEL, "--web"]
    command += ["--web-port", port, "--users", "3", "--warm-up", "0s", "--time", "60s", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            patiently(f"http://127.0.0.1:{port}/", lambda status: status < 500)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
    assert "Traceback" not in said


def text_of(answer: httpx.Response) -> str:
    return answer.text


def patiently(url: str, wanted: Callable[[Any], bool], read: Callable[[httpx.Response], Any] | None = None) -> Any:
    """What an address answers, once it answers what is wanted."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(httpx.TransportError):
            answer = httpx.get(url)
            found = read(answer) if read else answer.status_code
            if wanted(found):
                return found
        time.sleep(0.05)
    raise AssertionError(f"{url} never answered what was wanted")


def test_the_web_interface_has_a_tab_that_shows_the_page_of_the_test_so_far(url: str, tmp_path: Path) -> None:
    with web(url, "--web-base-path", "/under", "--out", str(tmp_path)) as base:
        index = httpx.get(f"{base}/under/").text
        arguments = json.loads(re.findall(r"window\.templateArgs = (.*)", index)[0])
        assert [{"key": "chatproof", "title": "Streams"}] == arguments["extended_tabs"]
        assert ["chatproof"] == [each["key"] for each in arguments["extended_tables"]]
        script = index.index("customElements.define(NAME, Report)")
        assert index.index("window.templateArgs = ") < script < index.rindex("</body>")
        assert "no test has been started" in httpx.get(f"{base}/under/chatproof").text
        httpx.post(f"{base}/under/swarm", data={"user_count": "3", "spawn_rate": "3"})
        page = patiently(f"{base}/under/chatproof", lambda text: "TTFT" in text and "<svg" in text, text_of)
        assert "running: " in page
        assert "<script" not in page
        rows = patiently(
            f"{base}/under/stats/requests",
            lambda made: len(made) > 1,
            lambda got: got.json()["extended_stats"][0]["data"],
        )
        assert {"TTFT", "charts and verdicts: /under/chatproof"} <= {each["name"] for each in rows}


def test_the_form_of_the_web_interface_says_how_the_next_test_is(url: str, tmp_path: Path) -> None:
    users = {"user_count": "5", "spawn_rate": "5"}
    with web("http://127.0.0.1:9", "--out", str(tmp_path)) as base:
        given = json.loads(re.findall(r"window\.templateArgs = (.*)", httpx.get(f"{base}/").text)[0])["extra_options"]
        assert {"objective", "rate", "seconds"} <= given.keys()
        assert not {"out", "scenario", "trace", "ca_file", "api_key_env"} & given.keys()
        wrong = {"host": url, "objective": "fast", "rate": "", "seconds": "50"}
        for _ in range(2):
            httpx.post(f"{base}/swarm", data=users | wrong)
            patiently(f"{base}/chatproof", lambda text: "not started: --objective" in text, text_of)
            patiently(f"{base}/stats/requests", lambda state: state == "stopped", lambda got: got.json()["state"])
        httpx.post(f"{base}/swarm", data=users | wrong | {"objective": "ttft_p50=5s,itl_p50=4s"})
        page = patiently(f"{base}/chatproof", lambda text: "<svg" in text, text_of)
        assert all(
            words in page for words in (f"Load test of {url}", "5 users", " of 50 s", "ttft_p50=5s", "itl_p50=4s")
        )
        httpx.post(f"{base}/stop")
        patiently(f"{base}/chatproof", lambda text: "running" not in text, text_of)
    assert url == json.loads((tmp_path / "results.json").read_text())["target"]["url"]
