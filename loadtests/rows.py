"""Rows: latencies as rows of Locust's statistics, so that its web page, its files and its merging show them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import locust.stats

from loadtests import latency

if TYPE_CHECKING:
    from locust.env import Environment
    from locust.stats import StatsEntry

    from loadtests.answer import Answer

METHOD: Final = "ms"
"""What stands in the column of the HTTP method: the unit. Aggregated rows hold requests only, never these."""


def widen_buckets() -> None:
    """Makes Locust keep three significant digits: its own two turn 205 ms into 210."""
    locust.stats.bucket_response_time = latency.bucket  # type: ignore[assignment]


def row(environment: Environment, name: str) -> StatsEntry:
    """The row of a latency."""
    return environment.stats.entries[name, METHOD]


def log(environment: Environment, answer: Answer) -> None:
    """Writes the latencies of an answer into their rows."""
    if answer.connect_ns is not None:
        row(environment, "CONNECT").log(answer.connect_ns / latency.MS, 0)  # type: ignore[arg-type]
    row(environment, "SEND LAG").log(max(0.0, (answer.sent_ns - answer.intended_ns) / latency.MS), 0)  # type: ignore[arg-type]
    if not answer.succeeded:
        return
    for name, value_ms in latency.of(answer):
        row(environment, name).log(value_ms, 0)  # type: ignore[arg-type]
    gaps, together = latency.gaps_ms(answer)
    if gaps or together:
        _log_gaps(row(environment, "ITL"), gaps, together)


def _log_gaps(entry: Any, gaps: list[float], together: int) -> None:
    """All gaps of a stream at once: `StatsEntry.log` would cost ten times as much for each."""
    now_s = time.time()
    buckets = entry.response_times
    digits = f".{latency.DIGITS}g"
    for gap in gaps:
        buckets[float(format(gap, digits)) if gap > 0 else 0.0] += 1
    if together:
        buckets[0.0] += together
    count = len(gaps) + together
    entry.num_requests += count
    entry.num_reqs_per_sec[int(now_s)] += count
    entry.last_request_timestamp = now_s
    entry.total_response_time += sum(gaps)
    least = 0.0 if together else min(gaps)
    entry.min_response_time = least if entry.min_response_time is None else min(entry.min_response_time, least)
    entry.max_response_time = max(entry.max_response_time, max(gaps, default=0.0))
