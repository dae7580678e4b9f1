"""Rows: latencies as rows of Locust's statistics, so that its web page, its files and its merging show them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import locust.stats

from loadtests.measure import latency

if TYPE_CHECKING:
    from locust.env import Environment
    from locust.stats import StatsEntry

    from loadtests.client.answer import Answer
    from loadtests.measure.live_progress import Fresh

LIVE: Final = ("TTFT", "TTFT planned")
"""Rows that are written while a stream runs, with the gaps."""
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
        if name not in LIVE:
            row(environment, name).log(value_ms, 0)  # type: ignore[arg-type]


def log_fresh(environment: Environment, fresh: Fresh) -> None:
    """Writes what is new of a running stream. Gaps go in at once: `StatsEntry.log` would cost ten times as much."""
    if fresh.ttft_ms is not None and fresh.ttft_planned_ms is not None:
        row(environment, "TTFT").log(fresh.ttft_ms, 0)  # type: ignore[arg-type]
        row(environment, "TTFT planned").log(fresh.ttft_planned_ms, 0)  # type: ignore[arg-type]
    if not fresh.count:
        return
    entry: Any = row(environment, "ITL")
    now_s = time.time()
    for buckets in fresh.gaps_ms.values():
        for value, count in buckets.items():
            entry.response_times[value] += count
    entry.num_requests += fresh.count
    entry.num_reqs_per_sec[int(now_s)] += fresh.count
    entry.last_request_timestamp = now_s
    entry.total_response_time += fresh.total_ms
    least = fresh.least_ms if entry.min_response_time is None else min(entry.min_response_time, fresh.least_ms)
    entry.min_response_time = least
    entry.max_response_time = max(entry.max_response_time, fresh.greatest_ms)
