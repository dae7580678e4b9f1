"""Write latencies as rows of Locust's statistics, so that its web page, its files and its merging include them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import locust.stats

from loadtests.measure.latency import MS, answer_latencies, bucket

if TYPE_CHECKING:
    from locust.env import Environment
    from locust.stats import StatsEntry

    from loadtests.client.answer import Answer
    from loadtests.measure.live_progress import NewReads

LIVE: Final = ("TTFT", "TTFT planned")
"""Rows that are written while a stream runs, together with the gaps."""
METHOD: Final = "ms"
"""The value in the column of the HTTP method: the unit. Locust's aggregated row has requests only, never these rows."""


def widen_buckets() -> None:
    """Make Locust keep three significant digits: its own two turn 205 ms into 210."""
    locust.stats.bucket_response_time = bucket  # type: ignore[assignment]


def get_row(environment: Environment, name: str) -> StatsEntry:
    """Return the row of a latency."""
    return environment.stats.entries[name, METHOD]


def log_answer(environment: Environment, answer: Answer) -> None:
    """Write the latencies of an answer into their rows."""
    if answer.connect_ns is not None:
        get_row(environment, "CONNECT").log(answer.connect_ns / MS, 0)  # type: ignore[arg-type]
    get_row(environment, "SEND LAG").log(max(0.0, (answer.sent_ns - answer.intended_ns) / MS), 0)  # type: ignore[arg-type]
    if not answer.succeeded:
        return
    for name, value_ms in answer_latencies(answer):
        if name not in LIVE:
            get_row(environment, name).log(value_ms, 0)  # type: ignore[arg-type]


def log_new_reads(environment: Environment, new: NewReads) -> None:
    """Write the new reads of a running stream. Gaps are added directly: `StatsEntry.log` would cost ten times more."""
    if new.ttft_ms is not None and new.ttft_planned_ms is not None:
        get_row(environment, "TTFT").log(new.ttft_ms, 0)  # type: ignore[arg-type]
        get_row(environment, "TTFT planned").log(new.ttft_planned_ms, 0)  # type: ignore[arg-type]
    if not new.count:
        return
    entry: Any = get_row(environment, "ITL")
    now_s = time.time()
    for buckets in new.gaps_ms.values():
        for value, count in buckets.items():
            entry.response_times[value] += count
    entry.num_requests += new.count
    entry.num_reqs_per_sec[int(now_s)] += new.count
    entry.last_request_timestamp = now_s
    entry.total_response_time += new.total_ms
    least = new.least_ms if entry.min_response_time is None else min(entry.min_response_time, new.least_ms)
    entry.min_response_time = least
    entry.max_response_time = max(entry.max_response_time, new.greatest_ms)
