"""Latencies of one answer, by the definitions that reports print."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from loadtests.client.answer import Answer

DEFINITIONS: Final[Mapping[str, str]] = {
    "TTFT": "from sending the request to the first event that bears content (text, reasoning or a tool call); TTFT and "
    "ITL are those of all streams, of those too that fail later",
    "ITL": "between two events that bear content; 0 for those that arrived in one read",
    "TPOT": "(last content - first content) / (completion tokens - 1), by the server's usage, else by its events",
    "E2E": "from sending the request to the end of the answer",
    "TTFT planned": "TTFT from the time at which the plan meant the request to leave",
    "E2E planned": "E2E from the time at which the plan meant the request to leave",
    "CONNECT": "opening a connection, with TLS; none for one that was kept alive; not part of TTFT",
    "SEND LAG": "from the planned to the real time of sending: what the load generator itself is late",
}
"""Every row of the statistics and what it measures; all in milliseconds."""
MS: Final = 1e6
DIGITS: Final = 3


def bucket(value_ms: float) -> float:
    """The bucket of a latency: three significant digits, so that a bucket is never wider than 1 %."""
    return float(f"{value_ms:.{DIGITS}g}") if value_ms > 0 else 0.0


def buckets(latencies_ns: Sequence[int], least_ns: int, greatest_ns: int) -> dict[float, int]:
    """How many of some latencies in nanoseconds fall into each bucket; none is negative, and the least and the
    greatest of them are known.

    Latencies of one power of ten are rounded as integers, which takes a fifth of the time; a latency midway between two
    buckets goes to the greater one then.
    """
    step_ns = 10 ** (len(str(least_ns)) - DIGITS)
    if step_ns < 2 or (greatest_ns + step_ns // 2) // step_ns >= 10**DIGITS:
        return Counter(bucket(each / MS) for each in latencies_ns)
    half_ns = step_ns // 2
    counted = Counter([(each + half_ns) // step_ns for each in latencies_ns])
    return {value * step_ns / 10**6: count for value, count in counted.items()}


def of(answer: Answer) -> Iterator[tuple[str, float]]:
    """Row and milliseconds of every single latency of a successful answer; gaps are in `live.Fresh`."""
    yield "E2E", (answer.ended_ns - answer.sent_ns) / MS
    yield "E2E planned", (answer.ended_ns - answer.intended_ns) / MS
    if answer.stamps_ns:
        yield "TTFT", (answer.stamps_ns[0] - answer.sent_ns) / MS
        yield "TTFT planned", (answer.stamps_ns[0] - answer.intended_ns) / MS
    tpot_ms = time_per_token_ms(answer)
    if tpot_ms is not None:
        yield "TPOT", tpot_ms


def time_per_token_ms(answer: Answer) -> float | None:
    """Mean time from token to token; None where there are fewer than two."""
    tokens = answer.completion_tokens or sum(answer.counts)
    if len(answer.stamps_ns) == 0 or tokens < 2:
        return None
    return (answer.stamps_ns[-1] - answer.stamps_ns[0]) / MS / (tokens - 1)
