"""An answer: what came back for one request, and when. Times are monotonic nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(slots=True)
class Answer:
    """One exchange. `failure` names what went wrong, None if nothing did; names are stable, details are in `detail`.

    `intended_ns` is when the request should have left by the plan, `sent_ns` when it did; `connect_ns` is how long
    the connection took, None for one that was kept alive. `stamps_ns` and `counts` are those of `scan.Scan`.
    `segments` is what was received, for sampled streams only. Both fill while the stream runs: `looked_at` is how many
    stamps `live.fresh` has seen, `events_counted` how many events it has counted in the measured time, `longest_gap_ms`
    the longest of the gaps that it has counted.
    """

    intended_ns: int
    sent_ns: int = 0
    connect_ns: int | None = None
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
    looked_at: int = 0
    events_counted: int = 0
    longest_gap_ms: float = 0.0

    @property
    def succeeded(self) -> bool:
        """Whether the answer came as it should."""
        return self.failure is None

    @property
    def completion_tokens(self) -> int | None:
        """Tokens by the server's own count; None if it gave none."""
        count = (self.usage or {}).get("completion_tokens")
        return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None
