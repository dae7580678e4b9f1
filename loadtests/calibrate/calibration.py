"""Calibration: our clock against a server whose times are known, figure by figure against a budget.

The first part drives streams with the transport alone, tallied and sampled as in a test, and holds each stream against
the server's own record of it; a client that does nothing but receive takes a turn beside it. The second runs the whole
tool, Locust and all, and holds its report against the record. Connections are open before, as after a test's warm-up.
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

from loadtests.calibrate.baseline_client import Bare
from loadtests.calibrate.schedule import Schedule
from loadtests.client.clock import Clock
from loadtests.client.event_loop import Inbox
from loadtests.client.transport import Caller, Origin
from loadtests.errors import UsageError
from loadtests.measure import stream_checks as judging
from loadtests.measure.objectives import met_by
from loadtests.measure.tally import Tally
from loadtests.run import gc_tuning as garbage
from loadtests.shape.workload import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from loadtests.client.answer import Answer

STREAMS: Final = (1, 50, 200, 500)
PACED: Final = Schedule(100, 200_000_000, 20_000_000)
SHORT: Final = Schedule(5, 20_000_000, 10_000_000)
STAGGER_S: Final = 0.004
FIREHOSE: Final = Schedule(200_000)
SAMPLE: Final = 20
WHOLE_STREAMS: Final = 200
WHOLE_S: Final = 12.0
RATE: Final = 200
PATH: Final = "/v1/chat/completions"
NOTHING: Final = Request(b"", streamed=True, canary="")
BARE, TRANSPORT, WHOLE, HOSE, OPEN, WEIGHT = (
    *("bare sockets", "transport", "whole tool", "firehose", "open loop", "installation"),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One row of the calibration: a name, how many streams (or requests a second), and its figures by name, as far as
    it has them. Errors and excesses are 99th percentiles in milliseconds."""

    name: str
    streams: int
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Bound:
    """One line of the budget: of which row, which figure, and its bound."""

    name: str
    streams: int
    figure: str
    limit: float
    at_least: bool = False

    def kept(self, rows: Sequence[Measured]) -> tuple[float | None, bool]:
        """The figure, and whether it is within the bound; a row that is not there was not asked for."""
        row = next((each for each in rows if (each.name, each.streams) == (self.name, self.streams)), None)
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
BUDGET: Final = (
    Bound(HOSE, 1, "chunks_per_cpu_s", 1_200_000, at_least=True),
    Bound(TRANSPORT, 500, "ttft_error_ms", 0.6),
    Bound(TRANSPORT, 500, "itl_error_ms", 0.1),
    Bound(WHOLE, WHOLE_STREAMS, "cpu_us", 12.0),
    Bound(WHOLE, WHOLE_STREAMS, "ttft_error_ms", 5.0),
    Bound(WHOLE, WHOLE_STREAMS, "itl_error_ms", 0.2),
    Bound(OPEN, RATE, "send_lag_ms", 2.0),
    Bound(WEIGHT, 1, "installed_mb", 120.0),
    Bound(WEIGHT, 1, "start_s", 1.0),
)


@contextlib.contextmanager
def schedule_server() -> Iterator[str]:
    """The calibration server in a process of its own; its URL. Raises UsageError where there is no timerfd.

    Where there are several processors it has one to itself: the kernel likes to wake a reader where the writer runs.
    """
    if sys.platform != "linux":
        raise UsageError("calibrate needs Linux: the server keeps its schedule by timerfd")
    command, cores = [sys.executable, "-m", "loadtests.calibrate.schedule_server"], os.sched_getaffinity(0)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own module
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


def bare(url: str, streams: int, schedule: Schedule = PACED) -> Measured:
    """The same streams as `transport`, received by a loop and no more: what the machine itself costs and errs."""
    origin = _origin(url)
    client = Bare(origin.host, origin.port, streams)
    try:
        ask(url, "/reset")
        bodies = [_body(schedule, number) for number in range(streams)]
        heads = [f"POST {PATH} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n".encode() for body in bodies]
        cpu_s = time.process_time()
        sent_ns, stamps_ns = client.drive([head + body for head, body in zip(heads, bodies, strict=True)], STAGGER_S)
        cpu_s = time.process_time() - cpu_s
    finally:
        client.close()
    seen = {str(number): (sent, stamps_ns[number]) for number, sent in enumerate(sent_ns)}
    return Measured(BARE, streams, errors(seen, ask(url, "/truth")) | costs(sum(map(len, stamps_ns)), cpu_s))


def transport(url: str, streams: int, schedule: Schedule = PACED) -> Measured:
    """Streams with staggered starts, read by the transport, tallied and sampled."""
    inbox, tally, began_ns = Inbox(Clock()), Tally(), time.monotonic_ns()
    callers = [Caller(_origin(url), inbox) for _ in range(streams)]
    answers: dict[str, Answer] = {}
    met = met_by(())
    bodies = [_body(schedule, number) for number in range(streams)]

    def one(number: int) -> None:
        gevent.sleep(number * STAGGER_S)
        sampled = number % SAMPLE == 0
        answer = callers[number].call(bodies[number], time.monotonic_ns(), sampled=sampled)
        if sampled:
            found = judging.findings(answer, NOTHING, rest=lambda: gevent.sleep(judging.REST_S))
            tally.findings.update(rule for rule, _ in found)
        tally.add(answer, began_ns, met)
        answers[str(number)] = answer

    try:
        gevent.joinall([gevent.spawn(caller.call, _body(SHORT, 0), time.monotonic_ns()) for caller in callers])
        ask(url, "/reset")
        garbage.leave()
        cpu_s = time.process_time()
        gevent.joinall([gevent.spawn(one, number) for number in range(streams)])
        cpu_s = time.process_time() - cpu_s
    finally:
        garbage.mind()
        for caller in callers:
            caller.close()
    if tally.failures or tally.findings:
        raise UsageError(f"the calibration failed: {dict(tally.kinds)} {dict(tally.findings)}")
    seen = {user: (answer.sent_ns, _arrivals(answer)) for user, answer in answers.items()}
    return Measured(TRANSPORT, streams, errors(seen, ask(url, "/truth")) | costs(tally.events, cpu_s))


def of_turns(rows: Sequence[Measured]) -> Measured:
    """One row for several turns of the same: costs are the least, since what else a machine does can only add to them;
    errors are the median."""
    figures = {
        name: COSTS[name](values) if name in COSTS else median(values)
        for name in rows[0].figures
        for values in [[row.figures[name] for row in rows]]
    }
    return Measured(rows[0].name, rows[0].streams, figures)


def whole_tool(url: str, streams: int, schedule: Schedule, seconds: float) -> Measured:
    """A load test as a user runs it; its report against the server's record of the requests that it measured."""
    made = _run(url, schedule, seconds, "--users", str(streams))
    figures = _costs_of(made)
    if schedule.gap_ns is None:
        return Measured(HOSE, streams, figures)
    measured = sorted(ask(url, "/truth"), key=lambda each: each["read_ns"])[-made["counts"]["requests"] :]
    true_ttft = [(each["sent_ns"][0] - each["read_ns"]) / 1e6 for each in measured]
    true_gaps = [(b - a) / 1e6 for each in measured for a, b in pairwise(each["sent_ns"])]
    latencies = made["latencies_ms"]
    figures["ttft_error_ms"] = latencies["TTFT"]["percentiles"]["99"] - p99(true_ttft)
    figures["itl_error_ms"] = latencies["ITL"]["percentiles"]["99"] - p99(true_gaps)
    figures["late_ms"] = p99([abs(gap - schedule.gap_ns / 1e6) for gap in true_gaps])
    return Measured(WHOLE, streams, figures)


def open_loop(url: str, rate: int, seconds: float) -> Measured:
    """Requests that leave by a plan, whatever has been answered: how late they leave."""
    made = _run(url, SHORT, seconds, "--rate", str(rate))
    lag_ms: float = made["latencies_ms"]["SEND LAG"]["percentiles"]["99"]
    return Measured(OPEN, rate, _costs_of(made) | {"send_lag_ms": lag_ms})


def start(url: str) -> float:
    """Seconds from the command's start until the server has its first request."""
    began_ns = time.monotonic_ns()
    _run(url, Schedule(1, 1_000_000, 1_000_000), 0.2, "--users", "1", warm_up_s=0.0)
    first_ns: int = min(each["read_ns"] for each in ask(url, "/truth"))
    return (first_ns - began_ns) / 1e9


def errors(seen: Mapping[str, tuple[int, Sequence[int]]], truth: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """How far a client's times are from the server's, and how late the server itself was, which is in no error.

    `seen`: for each stream when its request was sent, and when each of its events came, in ns.
    """
    ttft, gaps, late = [], [], []
    for each in truth:
        sent_ns, stamps_ns = seen[each["user"]]
        true_ns = each["sent_ns"]
        ttft.append(abs(stamps_ns[0] - sent_ns - (true_ns[0] - each["read_ns"])) / 1e6)
        true = [later - earlier for earlier, later in pairwise(true_ns)]
        gaps += [abs((b - a) - gap) / 1e6 for (a, b), gap in zip(pairwise(stamps_ns), true, strict=True)]
        late += [abs(gap - PACED.gap_ns) / 1e6 for gap in true] if PACED.gap_ns else []
    return {"ttft_error_ms": p99(ttft), "itl_error_ms": p99(gaps), "late_ms": p99(late)}


def costs(chunks: int, cpu_s: float) -> dict[str, float]:
    """What a chunk costs."""
    return {"chunks": chunks, "cpu_us": cpu_s * 1e6 / chunks, "chunks_per_cpu_s": chunks / cpu_s}


def p99(values: Sequence[float]) -> float:
    """The 99th percentile: the least value that 99 % do not exceed."""
    return sorted(values)[max(0, -(-len(values) * 99 // 100) - 1)]


def ask(url: str, path: str) -> Any:
    """The server's answer to a question of the calibration."""
    with urllib.request.urlopen(url + path) as answer:  # noqa: S310 - our own server on the loopback
        return json.load(answer)


def _run(url: str, schedule: Schedule, seconds: float, *more: str, warm_up_s: float = 3.0) -> dict[str, Any]:
    ask(url, "/reset")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        command = [sys.executable, "-m", "loadtests", url, "--dialect", "openai", "--model", str(schedule)]
        command += ["--time", f"{seconds}s", "--warm-up", f"{warm_up_s}s", "--out", folder, *more]
        done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - our own module
        if not path.exists():
            last = (done.stderr.strip().splitlines() or ["no word of it"])[-1]
            raise UsageError(f"the calibration failed: the load test wrote no report: {last}")
        made: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if made["failures"] or not made["counts"]["content_events"]:
        raise UsageError(f"the calibration failed: {made['failures']}")
    return made


def _costs_of(made: dict[str, Any]) -> dict[str, float]:
    return costs(made["counts"]["content_events"], made["own_cpu"] * made["load"]["measured_s"])


def _arrivals(answer: Answer) -> list[int]:
    return [at for at, count in zip(answer.stamps_ns, answer.counts, strict=True) for _ in range(count)]


def _body(schedule: Schedule, number: int) -> bytes:
    return json.dumps({"model": str(schedule), "messages": [], "stream": True, "user": str(number)}).encode()


def _origin(url: str) -> Origin:
    host, _, port = url.removeprefix("http://").rpartition(":")
    return Origin(host, int(port), PATH)
