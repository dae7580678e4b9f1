"""Compute the latencies of one answer, by the definitions that reports print."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from loadtests.client.answer import Answer

DEFINITIONS: Final[Mapping[str, str]] = {
    "TTFT": "time to first token: from sending the request to the first event with content (text, reasoning or a tool "
    "call); TTFT and ITL include streams that fail later",
    "ITL": "inter-token latency: between two consecutive events with content; 0 for events that arrived in one read",
    "TPOT": "time per output token: (last content - first content) / (completion tokens - 1), with the "
    "tokens of the server's usage, or the number of events with content without usage",
    "E2E": "end to end: from sending the request to the end of the answer",
    "TTFT planned": "TTFT from the time at which the request was planned to be sent",
    "E2E planned": "E2E from the time at which the request was planned to be sent",
    "CONNECT": "opening a connection, including TLS; not for a connection that was kept alive; not part of TTFT",
    "UPLOAD": "sending a request of at least 64 KiB, such as one with images, up to its last byte; part of TTFT",
    "TTFT after upload": "TTFT without UPLOAD, for the same requests",
    "SEND LAG": "from the planned to the actual time of sending: the delay of the load generator itself",
}
"""Every row of the statistics and its definition; all values are milliseconds."""
MS: Final = 1e6
DIGITS: Final = 3


def bucket(value_ms: float) -> float:
    """Return the bucket of a latency: three significant digits, so that a bucket is never wider than 1 %."""
    return float(f"{value_ms:.{DIGITS}g}") if value_ms > 0 else 0.0


def count_buckets(latencies_ns: Sequence[int], least_ns: int, greatest_ns: int) -> dict[float, int]:
    """Count latencies in nanoseconds by bucket. None is negative; the least and the greatest are given.

    Latencies of one power of ten are rounded as integers, which takes a fifth of the time; a latency exactly between
    two buckets then goes to the greater one.
    """
    step_ns = 10 ** (len(str(least_ns)) - DIGITS)
    if step_ns < 2 or (greatest_ns + step_ns // 2) // step_ns >= 10**DIGITS:
        return Counter(bucket(latency_ns / MS) for latency_ns in latencies_ns)
    half_ns = step_ns // 2
    counted = Counter([(latency_ns + half_ns) // step_ns for latency_ns in latencies_ns])
    return {value * step_ns / 10**6: count for value, count in counted.items()}


def answer_latencies(answer: Answer) -> Iterator[tuple[str, float]]:
    """Yield row and milliseconds of each latency of a successful answer; the gaps are in `live_progress.NewReads`."""
    yield "E2E", (answer.ended_ns - answer.sent_ns) / MS
    yield "E2E planned", (answer.ended_ns - answer.intended_ns) / MS
    if answer.stamps_ns:
        yield "TTFT", (answer.stamps_ns[0] - answer.sent_ns) / MS
        yield "TTFT planned", (answer.stamps_ns[0] - answer.intended_ns) / MS
    if answer.uploaded_ns is not None:
        yield "UPLOAD", (answer.uploaded_ns - answer.sent_ns) / MS
        if answer.stamps_ns:
            yield "TTFT after upload", (answer.stamps_ns[0] - answer.uploaded_ns) / MS
    tpot_ms = time_per_token_ms(answer)
    if tpot_ms is not None:
        yield "TPOT", tpot_ms


def time_per_token_ms(answer: Answer) -> float | None:
    """Return the mean time from one token to the next; None if there are fewer than two tokens."""
    tokens = answer.completion_tokens or sum(answer.counts)
    if len(answer.stamps_ns) == 0 or tokens < 2:
        return None
    return (answer.stamps_ns[-1] - answer.stamps_ns[0]) / MS / (tokens - 1)
