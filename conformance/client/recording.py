"""Record an exchange while it runs, and stop it at its limits.

If the run keeps enough bytes already, the record of an answer is its beginning, its end and its digest.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from conformance.exchange import Failure, FailureKind
from openapi.schema.quantity import format_quantity
from openapi.stream import sse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.client.connection import ReceivedHead

MAX_SEGMENTS: Final = 100_000
"""Most segments of one body. A server that sends single bytes for minutes would otherwise exhaust the memory."""
SEGMENT_BYTES: Final = 150
"""Memory of a segment besides its data."""
HEADER_BYTES: Final = 250
"""Memory of a header besides its characters."""
EXCERPT_BYTES: Final = 4096
"""Bytes that are kept of the beginning and of the end of an answer that is not kept."""
EXCERPT_HEADERS: Final = 32
KEPT_BYTES: Final = 16 * 1024 * 1024
"""Bytes of answers that a run keeps as they are; the answers of a usual run have less than one million."""
ALL_EXCERPTS_BYTES: Final = 8 * 1024 * 1024
"""Bytes of the excerpts that are kept of further answers."""


class KeptBytes:
    """Counts the bytes that the records of one client hold."""

    def __init__(self, limit: int = KEPT_BYTES, excerpts: int = ALL_EXCERPTS_BYTES) -> None:
        self.limit = limit
        self._left = limit
        self._excerpts_left = excerpts

    def take(self, number: int) -> bool:
        """Reserve memory for a number of bytes; return False if there is not enough left."""
        if number > self._left:
            return False
        self._left -= number
        return True

    def give_back(self, number: int) -> None:
        """Release memory that was reserved."""
        self._left += number

    def take_excerpt(self, number: int) -> bool:
        """Reserve memory for the excerpt of an answer that is not kept; return False if there is not enough left."""
        if number > self._excerpts_left:
            return False
        self._excerpts_left -= number
        return True


SAME_ARRIVAL_S: Final = 0.0001
"""Pieces that arrive within this time form one segment: the HTTP parser splits one socket read into many pieces."""


class Recording:
    """What has been received in one exchange. Its clock starts when it is created."""

    def __init__(
        self, *, max_body_bytes: int, stop_after_events: int | None = None, kept: KeptBytes | None = None
    ) -> None:
        self._max_body_bytes = max_body_bytes
        self._kept = kept or KeptBytes()
        self._reserved = 0
        self._digest: hashlib._Hash | None = None  # set if the answer is not kept
        self._end = b""
        self._excerpts = 0
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
        if not self._reserve(sum(len(name) + len(value) + HEADER_BYTES for name, value in head.headers)):
            short = [(name[:EXCERPT_BYTES], value[:EXCERPT_BYTES]) for name, value in head.headers[:EXCERPT_HEADERS]]
            fits = self._kept.take_excerpt(sum(len(name) + len(value) + HEADER_BYTES for name, value in short))
            self.head = replace(head, reason=head.reason[:EXCERPT_BYTES], headers=tuple(short) if fits else ())
            self._stop_keeping()

    def add(self, piece: bytes) -> None:
        """Add a piece of the body. Beyond the limits the recording fails."""
        at_s = self.now()
        kept = piece[: self._max_body_bytes - self._size_bytes]
        joins = bool(self._segments) and at_s - self.arrivals_s[-1] < SAME_ARRIVAL_S
        if self._digest is None and not self._reserve(len(kept) + (0 if joins else SEGMENT_BYTES)):
            self._stop_keeping()
        if self._digest is not None:
            self._digest.update(kept)
            self._end = (self._end + kept)[-EXCERPT_BYTES:]
        elif joins:
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

    def _reserve(self, number: int) -> bool:
        if not self._kept.take(number):
            return False
        self._reserved += number
        return True

    def _stop_keeping(self) -> None:
        """Replace the body by its beginning and a digest, and free its memory."""
        body = b"".join(self._segments)
        self._digest = hashlib.sha256(body)
        self._kept.give_back(self._reserved)
        self._reserved = 0
        self._end = body[EXCERPT_BYTES:][-EXCERPT_BYTES:]
        fits = self._kept.take_excerpt(2 * (EXCERPT_BYTES + SEGMENT_BYTES))
        self._excerpts = EXCERPT_BYTES if fits else 0
        del self.arrivals_s[1:], self._segments[1:]
        self._segments = [bytearray(body[: self._excerpts])] if self._segments else []

    def end(self) -> None:
        """Note that nothing more is read. An answer that was not kept is a failure, but not one of the server."""
        self.ended_at_s = self.now()
        if self._digest is None:
            return
        if self._excerpts and self._end:
            self.arrivals_s.append(self.ended_at_s)
            self._segments.append(bytearray(self._end))
        self.complete = False
        self.fail(
            "not-kept",
            f"{self._size_bytes} bytes with the SHA-256 digest {self._digest.hexdigest()}: only their beginning and end"
            f" are kept, because the answers of the run have more than {self._kept.limit} bytes",
        )

    def withhold(self, reason: str) -> None:
        """Note that the body cannot be kept; this replaces any other failure."""
        self.complete, self.failure = False, Failure("not-kept", reason)

    @property
    def cut_places(self) -> tuple[tuple[int, int], ...]:
        """The segments between which bytes are missing; one behind the last stands for an end that is missing."""
        if self._digest is not None:
            return ((0, 1),)
        return () if self.complete else ((len(self.arrivals_s) - 1, len(self.arrivals_s)),)

    @property
    def room(self) -> int:
        """How many bytes of the body may still follow."""
        return self._max_body_bytes - self._size_bytes

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
            self.fail(
                "disconnected-by-us", f"we disconnected on purpose after {format_quantity(self._events, 'event')}"
            )
        return self.failure is None

    def fail(self, kind: FailureKind, detail: str) -> None:
        """Set the failure, unless the answer is complete or has failed already (errors while closing do not count)."""
        if self.failure is None and not self.complete:
            self.failure = Failure(kind, detail)
