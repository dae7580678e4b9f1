"""The answer to one request: what was received and when, in nanoseconds of the monotonic clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from openapi.server_values import read_count

if TYPE_CHECKING:
    from collections.abc import Sequence

SEGMENT_BYTES: Final = 200
"""The memory of a kept read in addition to its bytes: a pair, an integer and a bytes object."""


@dataclass(slots=True)
class Answer:
    """The answer to one request.

    intended_ns: when the request should have been sent by the plan. sent_ns: when it was sent. connect_ns: how long
    opening the connection took; None for a connection that was kept alive. uploaded_ns: when the last byte of a large
    request was on its way; None for one that fits into a buffer of the kernel.
    failure: the stable name of what went wrong, None if nothing did. detail: a description of it.
    stamps_ns, counts: see `sse_scan.EventScan`; they grow while the stream runs.
    segments: the received bytes with their times, for sampled streams only.
    reads_counted: how many stamps `live_progress.take_new` has counted. events_counted: how many events it has counted
    in the measured time. longest_gap_ms: the longest gap that it has counted.
    """

    intended_ns: int
    sent_ns: int = 0
    connect_ns: int | None = None
    uploaded_ns: int | None = None
    ended_ns: int = 0
    status: int = 0
    failure: str | None = None
    detail: str = ""
    stamps_ns: Sequence[int] = ()
    counts: Sequence[int] = ()
    events: int = 0
    coalesced_reads: int = 0
    size_bytes: int = 0
    usage: dict[str, Any] | None = None
    finish_reason: str | None = None
    retry_after_s: float | None = None
    segments: list[tuple[int, bytes]] = field(default_factory=list)
    reads_counted: int = 0
    events_counted: int = 0
    longest_gap_ms: float = 0.0

    @property
    def sample_bytes(self) -> int:
        """The memory of the received bytes that were kept; Python takes about 200 bytes more for each read."""
        return self.size_bytes + SEGMENT_BYTES * len(self.segments) if self.segments else 0

    @property
    def succeeded(self) -> bool:
        """Whether nothing went wrong."""
        return self.failure is None

    @property
    def completion_tokens(self) -> int | None:
        """The number of tokens by the server's usage; None if the server sent none that is possible."""
        return read_count((self.usage or {}).get("completion_tokens"))
