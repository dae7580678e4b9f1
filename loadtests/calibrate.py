"""Calibration: our clock against a server whose times are known.

The first part drives streams with the transport alone, tallied and sampled as in a test, and holds each stream against
the server's own record of it. The second runs the whole tool, Locust and all, and holds its report against the record.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import gevent

from loadtests import judging
from loadtests.clock import Clock
from loadtests.errors import UsageError
from loadtests.objectives import met_by
from loadtests.schedule import Schedule
from loadtests.tally import Tally
from loadtests.transport import Caller, Origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from loadtests.answer import Answer

STREAMS: Final = (1, 50, 200, 500)
PACED: Final = Schedule(100, 200_000_000, 20_000_000)
STAGGER_S: Final = 0.004
FIREHOSE: Final = Schedule(200_000)
SAMPLE: Final = 20
WHOLE_STREAMS: Final = 200
WHOLE_S: Final = 12
PATH: Final = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Measured:
    """One row of the calibration: how many streams, the 99th percentiles of the errors in milliseconds, the CPU time
    of the client per chunk in microseconds, and the server's own lateness, which is in no error."""

    name: str
    streams: int
    chunks: int
    ttft_error_ms: float | None = None
    gap_error_ms: float | None = None
    cpu_us: float | None = None
    chunks_per_cpu_s: float | None = None
    server_gap_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """One line of the budget: of which rows, which figure, and its bound."""

    name: str
    streams: int
    figure: str
    limit: float
    at_least: bool = False

    def kept(self, rows: Sequence[Measured]) -> tuple[float | None, bool]:
        """The figure, and whether it is within the bound; a row that is not there was not asked for."""
        row = next((each for each in rows if (each.name, each.streams) == (self.name, self.streams)), None)
        value = None if row is None else getattr(row, self.figure)
        if value is None:
            return None, row is None
        return value, value >= self.limit if self.at_least else value <= self.limit


BUDGET: Final = (
    Bound("transport", 500, "ttft_error_ms", 0.6),
    Bound("transport", 500, "gap_error_ms", 0.1),
    Bound("transport", 200, "cpu_us", 12.0),
    Bound("firehose", 1, "chunks_per_cpu_s", 1_200_000, at_least=True),
    Bound("whole tool", WHOLE_STREAMS, "ttft_error_ms", 5.0),
    Bound("whole tool", WHOLE_STREAMS, "gap_error_ms", 0.2),
)


@contextlib.contextmanager
def schedule_server() -> Iterator[str]:
    """The calibration server in a process of its own; its URL. Raises UsageError where there is no timerfd."""
    if sys.platform != "linux":
        raise UsageError("calibrate needs Linux: the server keeps its schedule by timerfd")
    command = [sys.executable, "-m", "loadtests.schedule_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own module
        try:
            url = (process.stdout.readline() if process.stdout else "").strip()
            if not url:
                raise UsageError("the calibration server did not start")
            yield url
        finally:
            process.terminate()


def transport(url: str, streams: int, schedule: Schedule = PACED) -> Measured:
    """Streams with staggered starts, read by the transport, tallied and sampled."""
    _ask(url, "/reset")
    clock, tally, began_ns = Clock(), Tally(), time.monotonic_ns()
    answers: dict[str, Answer] = {}

    def one(number: int) -> None:
        gevent.sleep(number * STAGGER_S)
        caller = Caller(_origin(url), clock)
        body = {"model": str(schedule), "messages": [], "stream": True, "user": str(number)}
        sampled = number % SAMPLE == 0
        answer = caller.call(json.dumps(body).encode(), time.monotonic_ns(), sampled=sampled)
        caller.close()
        tally.findings.update(rule for rule, _ in judging.findings(answer, "")) if sampled else None
        tally.add(answer, began_ns, met_by(()))
        answers[str(number)] = answer

    cpu_s = time.process_time()
    gevent.joinall([gevent.spawn(one, number) for number in range(streams)])
    cpu_s = time.process_time() - cpu_s
    if tally.failures or tally.findings:
        raise UsageError(f"the calibration failed: {dict(tally.kinds)} {dict(tally.findings)}")
    truth = {each["user"]: each for each in _ask(url, "/truth")}
    ttft, gaps, true_gaps = [], [], []
    for user, answer in answers.items():
        sent_ns = truth[user]["sent_ns"]
        ttft.append((answer.stamps_ns[0] - answer.sent_ns - (sent_ns[0] - truth[user]["read_ns"])) / 1e6)
        arrived_ns = [at for at, count in zip(answer.stamps_ns, answer.counts, strict=True) for _ in range(count)]
        true = [later - earlier for earlier, later in pairwise(sent_ns)]
        gaps += [abs((b - a) - gap) / 1e6 for (a, b), gap in zip(pairwise(arrived_ns), true, strict=True)]
        true_gaps += [gap / 1e6 for gap in true]
    return Measured(
        *("transport", streams, tally.events, p99(ttft), p99(gaps)),
        cpu_us=cpu_s * 1e6 / tally.events,
        chunks_per_cpu_s=tally.events / cpu_s,
        server_gap_ms=p99(true_gaps),
    )


def whole_tool(url: str, streams: int, schedule: Schedule, seconds: float) -> Measured:
    """A load test as a user runs it; its report against the server's record."""
    _ask(url, "/reset")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        command = [sys.executable, "-m", "loadtests", url, "--dialect", "openai", "--model", str(schedule)]
        command += ["--users", str(streams), "--time", f"{seconds}s", "--warm-up", "5s", "--out", folder]
        subprocess.run(command, check=False, capture_output=True)  # noqa: S603 - our own module
        if not path.exists():
            raise UsageError("the calibration failed: the load test wrote no report")
        made = json.loads(path.read_text(encoding="utf-8"))
    if made["failures"] or not made["counts"]["content_events"]:
        raise UsageError(f"the calibration failed: {made['failures']}")
    events = made["counts"]["content_events"]
    cpu_s = made["own_cpu"] * made["load"]["measured_s"]
    name = "firehose" if schedule.gap_ns is None else "whole tool"
    errors: tuple[float | None, ...] = (None, None, None)
    if schedule.gap_ns is not None:
        truth = _ask(url, "/truth")
        true_ttft = [(each["sent_ns"][0] - each["read_ns"]) / 1e6 for each in truth]
        true_gaps = [(b - a) / 1e6 for each in truth for a, b in pairwise(each["sent_ns"])]
        latencies = made["latencies_ms"]
        errors = (
            latencies["TTFT"]["percentiles"]["99"] - p99(true_ttft),
            latencies["ITL"]["percentiles"]["99"] - p99(true_gaps),
            p99(true_gaps),
        )
    return Measured(name, streams, events, errors[0], errors[1], cpu_s * 1e6 / events, events / cpu_s, errors[2])


def p99(values: Sequence[float]) -> float:
    """The 99th percentile: the least value that 99 % do not exceed."""
    return sorted(values)[max(0, -(-len(values) * 99 // 100) - 1)]


def _origin(url: str) -> Origin:
    host, _, port = url.removeprefix("http://").rpartition(":")
    return Origin(host, int(port), PATH)


def _ask(url: str, path: str) -> Any:
    with urllib.request.urlopen(url + path) as answer:  # noqa: S310 - our own server on the loopback
        return json.load(answer)
