"""Record an exchange while it runs, and stop it at its limits."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from conformance.exchange import Failure, FailureKind
from openapi.stream import sse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.client.connection import ReceivedHead

MAX_SEGMENTS: Final = 100_000
"""Most segments of one body. A server that sends single bytes for minutes would otherwise exhaust the memory."""
SAME_ARRIVAL_S: Final = 0.0001
"""Pieces that arrive within this time form one segment: the HTTP parser splits one socket read into many pieces."""


class Recording:
    """What has been received in one exchange. Its clock starts when it is created."""

    def __init__(self, *, max_body_bytes: int, stop_after_events: int | None = None) -> None:
        self._max_body_bytes = max_body_bytes
        self._stop_after_events = stop_after_events
        self._decoder = sse.Decoder()
        self._events = 0
        self._size_bytes = 0
        self.started_at = datetime.now(UTC).isoformat()
        self.started = time.perf_counter()
        self.connected = False
        self.head: ReceivedHead | None = None
        self.arrivals_s: list[float] = []
        self._segments: list[bytearray] = []
        self.headers_at_s = 0.0
        self.ended_at_s = 0.0
        self.stalled_s = 0.0
        self.complete = False
        self.failure: Failure | None = None

    def now(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self.started

    def open(self, head: ReceivedHead) -> None:
        """Note that the headers have arrived."""
        self.headers_at_s = self.now()
        self.head = head

    def add(self, piece: bytes) -> None:
        """Add a piece of the body. Beyond the limits the recording fails."""
        at_s = self.now()
        kept = piece[: self._max_body_bytes - self._size_bytes]
        if self._segments and at_s - self.arrivals_s[-1] < SAME_ARRIVAL_S:
            self._segments[-1].extend(kept)
        else:
            self.arrivals_s.append(at_s)
            self._segments.append(bytearray(kept))
        self._size_bytes += len(kept)
        if self._stop_after_events is not None:
            self._events += len(self._decoder.feed(kept, at_s))
        if len(kept) < len(piece):
            self.fail("too-large", f"the body is longer than {self._max_body_bytes} bytes; the rest was not read")
        elif len(self._segments) >= MAX_SEGMENTS:
            self.fail("too-large", f"the body came in more than {MAX_SEGMENTS} pieces; the rest was not read")

    @property
    def size_bytes(self) -> int:
        """The size of the recorded body."""
        return self._size_bytes

    def take_segments(self) -> Iterator[bytes]:
        """Yield the segments and free the memory of each; this works only once."""
        self._segments.reverse()
        while self._segments:
            yield bytes(self._segments.pop())

    def wants_more(self) -> bool:
        """Return whether to read on. After `stop_after_events` events the recording fails: we disconnect."""
        if self.failure is None and self._stop_after_events is not None and self._events >= self._stop_after_events:
            self.fail("disconnected-by-us", f"we disconnected on purpose after {self._events} events")
        return self.failure is None

    def fail(self, kind: FailureKind, detail: str) -> None:
        """Set the failure, unless the answer is complete or has failed already (errors while closing do not count)."""
        if self.failure is None and not self.complete:
            self.failure = Failure(kind, detail)
