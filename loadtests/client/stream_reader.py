"""Read the answer to one request from its connection: buffer usual reads, and parse them many at a time.

After the first content, a read that ends with an event is appended to a buffer with its time, and up to 64 reads are
parsed and counted at once. Everything else, such as an end or an error, is parsed immediately. A property test
compares the two ways. `flush` parses what is buffered, so that a caller who asks for the answer sees everything that
has come.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from gevent.event import AsyncResult

from loadtests.client.connection import EVENT_END, READ_BYTES

if TYPE_CHECKING:
    from typing import Any

    from loadtests.client.answer_parser import AnswerParser
    from loadtests.client.connection import TimedConnection
    from loadtests.client.delayed_ack import DelayedAck
    from loadtests.client.event_loop import EventLoop

SMALL_READ_BYTES: Final = 479
"""The size of a read while events are small: the most that Python itself allocates, which costs half as much."""
MAX_BUFFERED_BYTES: Final = 4096
"""The most bytes of a read that is buffered."""
FIRST_READS: Final = 8
MAX_READS: Final = 64
"""How many reads fill the buffer; fewer until reads wait for one another, as `ReadBatching` needs their times to tell
whether they may."""
MAX_LARGE_READS: Final = 16
"""How many larger reads fill the buffer."""
TRIAL_READS: Final = 8
"""Reads with delayed acknowledgements that show whether the server waited for them."""


class StreamReader:
    """Watches a connection from the request to the end of its answer, and feeds the parser.

    ended: set at the end of the answer. receive, read_size, reads, stamps_ns, max_reads: the buffer, to which the event
    loop appends (see `event_loop.Reader`).
    """

    __slots__ = (
        "_ack_policy",
        "_acks_delayed_from",
        "_connection",
        "_descriptor",
        "_event_loop",
        "_gaps_recorded",
        "_gaps_recorded_coalesced",
        "_parser",
        "ended",
        "max_reads",
        "read_size",
        "reads",
        "receive",
        "stamps_ns",
    )

    def __init__(
        self, connection: TimedConnection, parser: AnswerParser, event_loop: EventLoop, ack_policy: DelayedAck
    ) -> None:
        """Start to watch the connection."""
        self.ended: AsyncResult[None] = AsyncResult()
        self.receive: Any = connection.recvmsg
        self.read_size = 0
        self.reads: list[bytes] = []
        self.stamps_ns: list[int] = []
        self.max_reads = FIRST_READS
        self._connection = connection
        self._parser = parser
        self._event_loop = event_loop
        self._ack_policy: DelayedAck | None = ack_policy  # None once this stream's result is recorded
        self._acks_delayed_from = (
            0  # the number of reads with content before acknowledgements were delayed; 0: they are not
        )
        self._gaps_recorded = 0
        self._gaps_recorded_coalesced = 0
        self._descriptor = connection.fileno()
        event_loop.watch(self._descriptor, self)

    def read(self) -> None:
        """Read once from the connection."""
        try:
            data, at_ns = self._connection.read()
        except OSError as error:
            self.handle_error(error)
            return
        self.handle_read(data, at_ns)

    def handle_read(self, data: bytes, at_ns: int) -> None:
        """Buffer or parse the bytes of one read; no bytes are the end of the connection."""
        if not data:
            self._end_connection("the server closed the connection", at_ns)
            return
        parser = self._parser
        if parser.can_buffer and data.endswith(EVENT_END) and len(data) <= MAX_BUFFERED_BYTES:
            self.reads.append(data)
            self.stamps_ns.append(at_ns)
            if len(self.reads) >= self.max_reads:
                self._parse_buffer()
        else:
            self._parse_buffer()
            if not parser.finished:
                parser.feed_read(data, at_ns)
                scan = parser.scan
                if scan is not None and len(scan.counts) - self._gaps_recorded >= MAX_READS:
                    self._record_gaps()
        if parser.finished:
            self._end()
        elif len(data) >= READ_BYTES:  # much data comes at once: use large reads
            self._stop_buffering()
        elif self.receive is not None and parser.can_buffer and self.read_size in (0, len(data)):
            self._buffer_reads(SMALL_READ_BYTES if len(data) < SMALL_READ_BYTES * 3 // 4 else READ_BYTES)

    def handle_error(self, error: OSError) -> None:
        """End the answer after an error of the connection, unless there was just nothing to read."""
        if not isinstance(error, BlockingIOError):
            self._end_connection(str(error) or type(error).__name__, time.monotonic_ns())

    def flush(self) -> None:
        """Parse the buffered reads."""
        self._parse_buffer()
        if self._parser.finished:
            self._end()
        elif self.read_size:
            self._update_buffering()

    def expire(self, deadline_s: float) -> None:
        """End the answer, and a request that is still being sent, because the deadline has passed."""
        self._connection.abort()
        if not self.ended.ready():
            self._parse_buffer()
            if not self._parser.finished:
                self._parser.fail("timeout", f"no end of the answer after {deadline_s:g} s", time.monotonic_ns())
            self._end()

    def stop(self) -> None:
        """Stop to watch the connection."""
        self._event_loop.unwatch(self._descriptor)
        if self._ack_policy is not None and self._acks_delayed_from:
            self._ack_policy.abandon_trial()

    def delay_acks(self) -> None:
        """Delay acknowledgements from now on if reads are many and the server does not wait for them."""
        policy = self._ack_policy
        if policy is not None and not self._acks_delayed_from and self._event_loop.is_batching and policy.may_delay():
            self._connection.delay_acks()
            self._acks_delayed_from = len(self._parser.answer.stamps_ns) + len(self.reads)

    def _parse_buffer(self) -> None:
        if self.reads:
            reads, stamps_ns = self.reads[:], self.stamps_ns[:]
            self.reads.clear()
            self.stamps_ns.clear()
            self._parser.feed_reads(reads, stamps_ns)
            self._record_gaps()

    def _buffer_reads(self, size: int) -> None:
        """Let the event loop append reads of up to this size to the buffer."""
        if not self.read_size:
            self._event_loop.set_edge_triggered(self._descriptor, True)
        self.read_size = size
        self._update_buffering()

    def _stop_buffering(self) -> None:
        if self.read_size:
            self._event_loop.set_edge_triggered(self._descriptor, False)
        self.read_size = 0

    def _update_buffering(self) -> None:
        """Set how many reads fill the buffer, and check whether acknowledgements may be delayed."""
        self._record_ack_trial()
        self.delay_acks()
        if self._acks_delayed_from and self._ack_policy is not None:
            self.max_reads = TRIAL_READS
        else:
            most = MAX_READS if self.read_size <= SMALL_READ_BYTES else MAX_LARGE_READS
            self.max_reads = most if self._event_loop.batching.pause_ns else FIRST_READS

    def _record_ack_trial(self) -> None:
        """Record, once, whether the server waited for delayed acknowledgements.

        After the first proof that it does not, all streams that are running delay theirs.
        """
        policy, since, stamps_ns = self._ack_policy, self._acks_delayed_from, self._parser.answer.stamps_ns
        if policy is not None and since and len(stamps_ns) >= since + TRIAL_READS:
            self._ack_policy = None
            if policy.record_stream(stamps_ns[since - 1 : since + TRIAL_READS]):
                for reader in self._event_loop.buffering_readers():
                    reader.delay_acks()

    def _record_gaps(self) -> None:
        """Record the gaps since the last call, from which the event loop decides how long reads may wait."""
        if (scan := self._parser.scan) is not None:
            since, coalesced = self._gaps_recorded, scan.coalesced_reads - self._gaps_recorded_coalesced
            self._gaps_recorded, self._gaps_recorded_coalesced = len(scan.counts), scan.coalesced_reads
            self._event_loop.batching.record_gaps(scan.stamps_ns[max(0, since - 1) :], coalesced)

    def _end_connection(self, detail: str, at_ns: int) -> None:
        self._parse_buffer()
        if not self._parser.finished:
            self._parser.end_connection(detail, at_ns)
        self._end()

    def _end(self) -> None:
        if not self.ended.ready():
            self._event_loop.unwatch(self._descriptor)
            self._event_loop.batching.record_end()
            self.ended.set(None)
