"""Calibrate the timer against a server with known timings, and compare each figure with its limit.

The first part reads streams with the transport alone, counted and sampled as in a test, and compares each stream with
the server's own record of it; a baseline client that only receives takes turns with it. The second part runs the
whole tool with Locust, and compares its report with the record. Connections are opened before, as in a test's
warm-up.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import gevent

from loadtests.calibrate.baseline_client import BaselineClient
from loadtests.calibrate.schedule import Schedule
from loadtests.client.clock import Clock
from loadtests.client.event_loop import EventLoop
from loadtests.client.transport import Caller, Endpoint
from loadtests.errors import UsageError
from loadtests.measure.objectives import make_goodput_check
from loadtests.measure.stream_checks import PAUSE_S, check_stream
from loadtests.measure.tally import Tally
from loadtests.run.gc_tuning import reduce_collections, restore_collections
from loadtests.shape.workload import WorkloadRequest
from openapi.python_child import python_command, python_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from loadtests.client.answer import Answer

STREAMS: Final = (1, 50, 200, 500)
PACED: Final = Schedule(100, 200_000_000, 20_000_000)
SHORT: Final = Schedule(5, 20_000_000, 10_000_000)
STAGGER_S: Final = 0.004
FIREHOSE: Final = Schedule(200_000)
SAMPLE: Final = 20
WHOLE_TOOL_STREAMS: Final = 200
WHOLE_TOOL_S: Final = 12.0
OPEN_LOOP_RATE: Final = 200
PATH: Final = "/v1/chat/completions"
EMPTY_REQUEST: Final = WorkloadRequest(b"", streamed=True, canary="")
BASELINE, TRANSPORT, WHOLE_TOOL, FAST_STREAM, OPEN_LOOP, INSTALLATION = (
    *("baseline client", "transport", "whole tool", "firehose", "open loop", "installation"),
)


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """One row of the calibration: a name, the number of streams (or requests per second), and its figures by name.

    Errors are 99th percentiles in milliseconds.
    """

    name: str
    streams: int
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class FigureLimit:
    """The limit of one figure of one row."""

    name: str
    streams: int
    figure: str
    limit: float
    at_least: bool = False

    def check(self, rows: Sequence[CalibrationRow]) -> tuple[float | None, bool]:
        """Return the figure and whether it is within the limit; a missing row was not requested and passes."""
        row = next((row for row in rows if (row.name, row.streams) == (self.name, self.streams)), None)
        value = None if row is None else row.figures.get(self.figure)
        if value is None:
            return None, row is None
        return value, value >= self.limit if self.at_least else value <= self.limit


TITLES: Final[Mapping[str, str]] = {
    "chunks": "chunks",
    "ttft_error_ms": "TTFT error p99 ms",
    "itl_error_ms": "ITL error p99 ms",
    "cpu_us": "CPU us/chunk",
    "chunks_per_cpu_s": "chunks/s/core",
    "send_lag_ms": "send lag p99 ms",
    "late_ms": "server late p99 ms",
    "installed_mb": "MB installed",
    "start_s": "s to the first request",
}
COSTS: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {"cpu_us": min, "chunks_per_cpu_s": max}
LIMITS: Final = (
    FigureLimit(FAST_STREAM, 1, "chunks_per_cpu_s", 1_200_000, at_least=True),
    FigureLimit(TRANSPORT, 500, "ttft_error_ms", 0.6),
    FigureLimit(TRANSPORT, 500, "itl_error_ms", 0.1),
    FigureLimit(WHOLE_TOOL, WHOLE_TOOL_STREAMS, "cpu_us", 12.0),
    FigureLimit(WHOLE_TOOL, WHOLE_TOOL_STREAMS, "ttft_error_ms", 5.0),
    FigureLimit(WHOLE_TOOL, WHOLE_TOOL_STREAMS, "itl_error_ms", 0.2),
    FigureLimit(OPEN_LOOP, OPEN_LOOP_RATE, "send_lag_ms", 2.0),
    FigureLimit(INSTALLATION, 1, "installed_mb", 120.0),
    FigureLimit(INSTALLATION, 1, "start_s", 1.0),
)


@contextlib.contextmanager
def run_schedule_server() -> Iterator[str]:
    """Run the calibration server in its own process and return its URL. Raise UsageError without timerfd.

    With several processors the server has one for itself: the kernel tends to wake a reader where the writer runs.
    """
    if sys.platform != "linux":
        raise UsageError("calibrate requires Linux: the calibration server uses timerfd")
    command, cores = python_command("loadtests.calibrate.schedule_server"), os.sched_getaffinity(0)
    with subprocess.Popen(  # noqa: S603 - a module of this package
        command, env=python_environment(os.environ), stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            url = (process.stdout.readline() if process.stdout else "").strip()
            if not url:
                raise UsageError("the calibration server did not start")
            if len(cores) > 1:
                os.sched_setaffinity(process.pid, {min(cores)})
                os.sched_setaffinity(0, cores - {min(cores)})
            yield url
        finally:
            process.terminate()
            os.sched_setaffinity(0, cores)


def measure_baseline(url: str, streams: int, schedule: Schedule = PACED) -> CalibrationRow:
    """Measure the streams of `measure_transport` with the baseline client: the costs and errors of the machine."""
    endpoint = _endpoint(url)
    client = BaselineClient(endpoint.host, endpoint.port, streams)
    try:
        fetch_json(url, "/reset")
        bodies = [_body(schedule, number) for number in range(streams)]
        heads = [f"POST {PATH} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n".encode() for body in bodies]
        cpu_s = time.process_time()
        sent_ns, stamps_ns = client.read_streams(
            [head + body for head, body in zip(heads, bodies, strict=True)], STAGGER_S
        )
        cpu_s = time.process_time() - cpu_s
    finally:
        client.close()
    seen = {str(number): (sent, stamps_ns[number]) for number, sent in enumerate(sent_ns)}
    return CalibrationRow(
        BASELINE, streams, timing_errors(seen, fetch_json(url, "/truth")) | chunk_costs(sum(map(len, stamps_ns)), cpu_s)
    )


def measure_transport(url: str, streams: int, schedule: Schedule = PACED) -> CalibrationRow:
    """Measure streams with staggered starts, read by the transport, counted and sampled as in a test."""
    event_loop, tally, began_ns = EventLoop(Clock()), Tally(), time.monotonic_ns()
    callers = [Caller(_endpoint(url), event_loop) for _ in range(streams)]
    answers: dict[str, Answer] = {}
    is_good = make_goodput_check(())
    bodies = [_body(schedule, number) for number in range(streams)]

    def read_stream(number: int) -> None:
        gevent.sleep(number * STAGGER_S)
        sampled = number % SAMPLE == 0
        answer = callers[number].call(bodies[number], time.monotonic_ns(), sampled=sampled)
        if sampled:
            findings = check_stream(answer, EMPTY_REQUEST, pause=lambda: gevent.sleep(PAUSE_S))
            tally.findings.update(rule for rule, _ in findings)
        tally.add(answer, began_ns, is_good)
        answers[str(number)] = answer

    try:
        gevent.joinall([gevent.spawn(caller.call, _body(SHORT, 0), time.monotonic_ns()) for caller in callers])
        fetch_json(url, "/reset")
        reduce_collections()
        cpu_s = time.process_time()
        gevent.joinall([gevent.spawn(read_stream, number) for number in range(streams)])
        cpu_s = time.process_time() - cpu_s
    finally:
        restore_collections()
        for caller in callers:
            caller.close()
    if tally.failures or tally.findings:
        raise UsageError(f"the calibration failed: {dict(tally.kinds)} {dict(tally.findings)}")
    seen = {user: (answer.sent_ns, _event_times(answer)) for user, answer in answers.items()}
    return CalibrationRow(
        TRANSPORT, streams, timing_errors(seen, fetch_json(url, "/truth")) | chunk_costs(tally.events, cpu_s)
    )


def summarize_turns(rows: Sequence[CalibrationRow]) -> CalibrationRow:
    """Summarize several turns of one row: the least costs, as other work only increases them, and median errors."""
    figures = {
        name: COSTS[name](values) if name in COSTS else median(values)
        for name in rows[0].figures
        for values in [[row.figures[name] for row in rows]]
    }
    return CalibrationRow(rows[0].name, rows[0].streams, figures)


def measure_whole_tool(url: str, streams: int, schedule: Schedule, seconds: float) -> CalibrationRow:
    """Run a load test like a user, and compare its report with the server's record of the measured requests."""
    results = _run_load_test(url, schedule, seconds, "--users", str(streams))
    figures = _read_costs(results)
    if schedule.gap_ns is None:
        return CalibrationRow(FAST_STREAM, streams, figures)
    measured = sorted(fetch_json(url, "/truth"), key=lambda stream: stream["read_ns"])[-results["counts"]["requests"] :]
    true_ttft = [(stream["sent_ns"][0] - stream["read_ns"]) / 1e6 for stream in measured]
    true_gaps = [(b - a) / 1e6 for stream in measured for a, b in pairwise(stream["sent_ns"])]
    latencies = results["latencies_ms"]
    figures["ttft_error_ms"] = latencies["TTFT"]["percentiles"]["99"] - p99(true_ttft)
    figures["itl_error_ms"] = latencies["ITL"]["percentiles"]["99"] - p99(true_gaps)
    figures["late_ms"] = p99([abs(gap - schedule.gap_ns / 1e6) for gap in true_gaps])
    return CalibrationRow(WHOLE_TOOL, streams, figures)


def measure_open_loop(url: str, rate: int, seconds: float) -> CalibrationRow:
    """Measure how late the requests of an open loop are sent."""
    results = _run_load_test(url, SHORT, seconds, "--rate", str(rate))
    lag_ms: float = results["latencies_ms"]["SEND LAG"]["percentiles"]["99"]
    return CalibrationRow(OPEN_LOOP, rate, _read_costs(results) | {"send_lag_ms": lag_ms})


def measure_start_s(url: str) -> float:
    """Return the seconds from the start of the command until the server has received its first request."""
    began_ns = time.monotonic_ns()
    _run_load_test(url, Schedule(1, 1_000_000, 1_000_000), 0.2, "--users", "1", warm_up_s=0.0)
    first_ns: int = min(stream["read_ns"] for stream in fetch_json(url, "/truth"))
    return (first_ns - began_ns) / 1e9


def timing_errors(
    seen: Mapping[str, tuple[int, Sequence[int]]], truth: Sequence[Mapping[str, Any]]
) -> dict[str, float]:
    """Return the difference between a client's times and the server's, and the lateness of the server itself.

    seen: for each stream, when its request was sent and when each of its events arrived, in ns. The lateness of the
    server is not part of the errors.
    """
    ttft, gaps, late = [], [], []
    for stream in truth:
        sent_ns, stamps_ns = seen[stream["user"]]
        true_ns = stream["sent_ns"]
        ttft.append(abs(stamps_ns[0] - sent_ns - (true_ns[0] - stream["read_ns"])) / 1e6)
        true = [later - earlier for earlier, later in pairwise(true_ns)]
        gaps += [abs((b - a) - gap) / 1e6 for (a, b), gap in zip(pairwise(stamps_ns), true, strict=True)]
        late += [abs(gap - PACED.gap_ns) / 1e6 for gap in true] if PACED.gap_ns else []
    return {"ttft_error_ms": p99(ttft), "itl_error_ms": p99(gaps), "late_ms": p99(late)}


def chunk_costs(chunks: int, cpu_s: float) -> dict[str, float]:
    """Return the processor time per chunk."""
    return {"chunks": chunks, "cpu_us": cpu_s * 1e6 / chunks, "chunks_per_cpu_s": chunks / cpu_s}


def p99(values: Sequence[float]) -> float:
    """Return the 99th percentile: the least value that 99 % of the values do not exceed."""
    return sorted(values)[max(0, -(-len(values) * 99 // 100) - 1)]


def fetch_json(url: str, path: str) -> Any:
    """Return the JSON at a path of the calibration server."""
    with urllib.request.urlopen(url + path) as answer:  # noqa: S310 - a local server
        return json.load(answer)


def _run_load_test(url: str, schedule: Schedule, seconds: float, *more: str, warm_up_s: float = 3.0) -> dict[str, Any]:
    fetch_json(url, "/reset")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        command = [*python_command("loadtests"), url, "--dialect", "openai", "--model", str(schedule)]
        command += ["--time", f"{seconds}s", "--warm-up", f"{warm_up_s}s", "--out", folder, *more]
        done = subprocess.run(command, env=python_environment(os.environ), check=False, capture_output=True, text=True)  # noqa: S603 - a module of this package
        if not path.exists():
            last = (done.stderr.strip().splitlines() or ["no error message"])[-1]
            raise UsageError(f"the calibration failed: the load test wrote no results: {last}")
        results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if results["failures"] or not results["counts"]["content_events"]:
        raise UsageError(f"the calibration failed: {results['failures']}")
    return results


def _read_costs(results: dict[str, Any]) -> dict[str, float]:
    return chunk_costs(results["counts"]["content_events"], results["own_cpu"] * results["load"]["measured_s"])


def _event_times(answer: Answer) -> list[int]:
    return [at for at, count in zip(answer.stamps_ns, answer.counts, strict=True) for _ in range(count)]


def _body(schedule: Schedule, number: int) -> bytes:
    return json.dumps({"model": str(schedule), "messages": [], "stream": True, "user": str(number)}).encode()


def _endpoint(url: str) -> Endpoint:
    host, _, port = url.removeprefix("http://").rpartition(":")
    return Endpoint(host, int(port), PATH)
