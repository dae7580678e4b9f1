"""Latencies of one answer, by the definitions that reports print."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from loadtests.answer import Answer

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


def of(answer: Answer) -> Iterator[tuple[str, float]]:
    """Row and milliseconds of every single latency of a successful answer; gaps are in `gaps_ms`."""
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


def gaps_ms(answer: Answer) -> tuple[list[float], int]:
    """The gaps between reads with content, and how many events came in one read with another: gaps of 0."""
    together = sum(answer.counts) - len(answer.counts)
    return [(later - earlier) / MS for earlier, later in pairwise(answer.stamps_ns)], together
