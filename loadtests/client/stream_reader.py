"""The incoming answer: HTTP unframed by geventhttpclient's parser (llhttp), events scanned as they arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from geventhttpclient._parser import HTTPParseError, HTTPResponseParser

from loadtests.client import classification as conclusion
from loadtests.client.classification import DETAIL
from loadtests.client.connection import WHOLE
from loadtests.client.sse_scan import Scan, TooLarge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loadtests.client.answer import Answer
    from loadtests.client.read_batching import Pace
    from loadtests.client.sse_scan import Marks

LARGEST_PLAIN: Final = 16 * 1024 * 1024
"""Bytes of an answer that is no stream; more is a failure."""
LARGEST_HEAD: Final = 64 * 1024
MOST_EVENTS: Final = 1_000_000
"""Events of one stream; more is a failure, so that an endless one keeps memory flat."""
LARGEST_SAMPLE: Final = 4 * 1024 * 1024
"""Bytes kept of a stream to judge it; a longer one is not judged."""
LARGEST_HELD: Final = 4096
"""Bytes of a read that may be put by."""
FIRST_HELD: Final = 8
MOST_HELD: Final = 64
"""Reads that are put by at most; fewer until reads wait for one another, as `pace` needs their times to tell whether
they may."""
ONE_EACH: Final = list(range(1, MOST_HELD + 1))


class Incoming(HTTPResponseParser):
    """Reads the answer to one request. `sampled`: keep what arrives, to judge it by the stream rules afterwards."""

    def __init__(
        self,
        answer: Answer,
        *,
        streamed: bool,
        sampled: bool = False,
        pace: Pace | None = None,
        marks: Marks | None = None,
        holds: bool = True,
    ) -> None:
        """`pace` hears when events came, `marks` is what other streams of the server have taught. Without `holds` every
        read is taken at once; else, once `self.holds`, reads that end an event may be put into `held` and their times
        into `held_ns`, `most_held` at most, as `feed_at` does."""
        super().__init__()
        self.answer = answer
        self.finished = False
        self._complete = False
        self._pace = pace
        self._marks = marks
        self._may_hold = holds
        self.holds = False
        self.held: list[bytes] = []
        self.held_ns: list[int] = []
        self.most_held = FIRST_HELD
        self._weighed = 0
        self._weighed_coalesced = 0
        self._streamed = streamed
        self._sampled = sampled
        self._scan: Scan | None = None
        self._pieces: list[bytes | bytearray] = []
        self._on_body = self._pieces.append  # without a frame of ours for every HTTP chunk
        self._plain = bytearray()
        self._in_body = False
        self._head: list[list[str]] = []
        self._head_size = 0
        self._after_value = True

    def feed_at(self, data: bytes, at_ns: int) -> bool:
        """Takes what one read brought; whether the answer has ended, well or not.

        Once there was content, reads that end with an event are put by and taken many at a time, by `settle`.
        """
        if self.holds and data.endswith(WHOLE) and len(data) <= LARGEST_HELD:
            self.held.append(data)
            self.held_ns.append(at_ns)
            return len(self.held) >= self.most_held and self.settle()
        if self.held and self.settle():
            return True
        pieces = self._pieces
        try:
            self.feed(data)
            if pieces:
                body = bytes(pieces[0]) if len(pieces) == 1 else b"".join(pieces)
                pieces.clear()
                self._take(body, at_ns)
        except HTTPParseError as error:
            self.fail("malformed-http", str(error.args[0]), at_ns)
        except TooLarge as error:
            self.fail("too-large", str(error), at_ns)
        if self.finished and not self.answer.ended_ns:
            self._conclude(at_ns)
        return self.finished

    def settle(self) -> bool:
        """Takes the reads that were put by, each with its own time; whether the answer has ended."""
        if not self.held:
            return self.finished
        reads, stamps_ns = self.held[:], self.held_ns[:]
        self.held.clear()
        self.held_ns.clear()
        self.most_held = MOST_HELD if self._pace is None or self._pace.pause_ns else FIRST_HELD
        pieces, feed = self._pieces, self.feed
        ends: list[int] = []
        try:
            for data in reads:
                feed(data)
                ends.append(len(pieces))
                if self.finished:
                    break
        except HTTPParseError as error:
            failed_ns = stamps_ns[len(ends)]
            self._take_apart(ends, stamps_ns)
            if not self.answer.ended_ns:
                self.fail("malformed-http", str(error.args[0]), failed_ns)
            return True
        if self.finished or ends != ONE_EACH[: len(reads)] or not self._take_alike(stamps_ns):
            self._take_apart(ends, stamps_ns)
        pieces.clear()
        if self.finished and not self.answer.ended_ns:
            self._conclude(stamps_ns[len(ends) - 1])
        self._weigh()
        return self.finished

    def cut(self, detail: str, at_ns: int) -> None:
        """The connection ended. An answer without a length ends so; any other is cut off."""
        if self.held and self.settle():
            return
        if self._in_body and self.answer.status and not self._framed():
            self._conclude(at_ns)
        else:
            self.fail("cut-off" if self.answer.status else "no-answer", detail, at_ns)
        self.finished = True

    def fail(self, kind: str, detail: str, at_ns: int) -> None:
        """Ends the answer as a failure of the given name, unless what was put by has ended it before."""
        if self.held and self.settle():
            return
        self._collect()
        self.answer.failure, self.answer.detail = kind, detail[:DETAIL]
        self.answer.ended_ns = at_ns
        self.finished, self._complete = True, False

    @property
    def reusable(self) -> bool:
        """Whether the connection can carry another request."""
        return self._complete and not self.parser_failed() and self.should_keep_alive()

    def header(self, name: str) -> str | None:
        """The value of a header of the answer, by its lower-case name."""
        return next((value.strip() for key, value in self._head if key.lower() == name), None)

    def _framed(self) -> bool:
        return self.header("content-length") is not None or self.header("transfer-encoding") is not None

    def _take(self, data: bytes, at_ns: int) -> None:
        self.answer.size_bytes += len(data)
        if self._sampled:
            self._keep([(at_ns, data)])
        if self._scan is not None:
            self._scan.feed(data, at_ns)
            if self._scan.events > MOST_EVENTS:
                raise TooLarge(f"a stream of more than {MOST_EVENTS} events")
            if self._scan.counts:
                self.holds = self._may_hold
                if len(self._scan.counts) - self._weighed >= MOST_HELD:
                    self._weigh()
        else:
            self._plain += data
            if len(self._plain) > LARGEST_PLAIN:
                raise TooLarge(f"an answer of more than {LARGEST_PLAIN} bytes")

    def _take_alike(self, stamps_ns: list[int]) -> bool:
        """Takes pieces that came in a read each and are an event each; False, and nothing taken, if they are not."""
        scan, pieces = self._scan, self._pieces
        if scan is None or scan.events + len(pieces) > MOST_EVENTS or not scan.feed_alike(pieces, stamps_ns):
            return False
        self.answer.size_bytes += sum(map(len, pieces))
        if self._sampled:
            self._keep(zip(stamps_ns, map(bytes, pieces), strict=True))
        return True

    def _take_apart(self, ends: list[int], stamps_ns: list[int]) -> None:
        """Takes the pieces of read after read; `ends` says after how many each read ended."""
        start = 0
        for end, at_ns in zip(ends, stamps_ns, strict=False):  # an error leaves reads unread
            body = b"".join(self._pieces[start:end])
            start = end
            try:
                if body:
                    self._take(body, at_ns)
            except TooLarge as error:
                self.fail("too-large", str(error), at_ns)
                return

    def _keep(self, received: Iterable[tuple[int, bytes]]) -> None:
        self.answer.segments.extend(received)
        if self.answer.size_bytes > LARGEST_SAMPLE:
            self.answer.segments.clear()
            self._sampled = False

    def _weigh(self) -> None:
        """Tells the pace of the gaps since it was last told."""
        if self._pace is not None and self._scan is not None:
            scan, since = self._scan, self._weighed
            coalesced = scan.coalesced_reads - self._weighed_coalesced
            self._weighed, self._weighed_coalesced = len(scan.counts), scan.coalesced_reads
            self._pace.saw(scan.stamps_ns[max(0, since - 1) :], coalesced)

    def _collect(self) -> None:
        if self._scan is not None:
            scan, answer = self._scan, self.answer
            answer.events, answer.coalesced_reads = scan.events, scan.coalesced_reads
            answer.usage, answer.finish_reason = scan.usage, scan.finish_reason

    def _conclude(self, at_ns: int) -> None:
        answer, scan = self.answer, self._scan
        if scan is not None:
            scan.close(at_ns)
        self._collect()
        answer.ended_ns = at_ns
        if not 200 <= answer.status < 300:
            conclusion.of_refusal(answer, bytes(self._plain), self.header)
        elif (encoding := self.header("content-encoding") or "identity").lower() != "identity":
            answer.failure, answer.detail = "encoded", f"content encoding {encoding}, where none was allowed"[:DETAIL]
        elif scan is not None:
            conclusion.of_stream(answer, scan)
        elif self._streamed:
            words = bytes(self._plain[:DETAIL]).decode(errors="replace")
            answer.failure = "no-stream"
            answer.detail = f"content type {self.header('content-type') or 'none'}: {words}"
        else:
            conclusion.of_plain(answer, bytes(self._plain))

    # What follows is called by the parser, in the order of the bytes.

    def _on_status(self, _: str) -> None: ...

    def _on_message_begin(self) -> None:
        self._head, self._after_value = [], True

    def _on_header_field(self, piece: str) -> None:
        self._measure_head(piece)
        if self._after_value:
            self._head.append(["", ""])
            self._after_value = False
        self._head[-1][0] += piece

    def _on_header_value(self, piece: str) -> None:
        self._measure_head(piece)
        self._after_value = True
        self._head[-1][1] += piece

    def _measure_head(self, piece: str) -> None:
        self._head_size += len(piece)
        if self._head_size > LARGEST_HEAD:
            raise TooLarge(f"a head of more than {LARGEST_HEAD} bytes")

    def _on_headers_complete(self) -> bool:
        code = self.get_code()
        if code >= 200:  # what is below is an interim answer
            self.answer.status = code
            self._in_body = True
            self._may_hold &= "chunked" in (self.header("transfer-encoding") or "").lower()
            media = (self.header("content-type") or "").partition(";")[0].strip().lower()
            if media == "text/event-stream" and code < 300:
                self._scan = Scan(self._marks)
                self.answer.stamps_ns, self.answer.counts = self._scan.stamps_ns, self._scan.counts
        return False

    def _on_message_complete(self) -> None:
        self.finished = self._complete = self._in_body
