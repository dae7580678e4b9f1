"""Parse the bytes of one answer: HTTP by geventhttpclient's parser (llhttp), event streams by `EventScan`.

Does no I/O.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from geventhttpclient._parser import HTTPParseError, HTTPResponseParser

from loadtests.client.classification import MAX_DETAIL, classify_error_status, classify_json, classify_stream
from loadtests.client.held_bytes import STEP_BYTES, HeldBytes, TooLarge
from loadtests.client.sse_scan import EventScan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from loadtests.client.answer import Answer
    from loadtests.client.sse_scan import ContentPatterns

MAX_BODY: Final = 4 * 1024 * 1024
"""The most bytes of an answer that is not a stream; more is a failure."""
MAX_HEAD: Final = 64 * 1024
MAX_EVENTS: Final = 1_000_000
"""The most events of one stream; more is a failure, so that an endless stream cannot fill the memory."""
MAX_SAMPLE: Final = 1024 * 1024
"""The most bytes that are kept of a stream to check it; a longer stream is not checked."""


class AnswerParser(HTTPResponseParser):
    """Parses the answer to one request into `answer`.

    finished: the answer has ended, well or not. can_buffer: it is a stream in HTTP chunks that has had content, so that
    reads may be collected and parsed later.
    """

    def __init__(
        self,
        answer: Answer,
        *,
        streamed: bool,
        sampled: bool = False,
        patterns: ContentPatterns | None = None,
        held: HeldBytes | None = None,
    ) -> None:
        """Prepare for an answer.

        streamed: an event stream is expected. sampled: keep the bytes, to check the stream afterwards. patterns: what
        other streams of the server have taught. held: what all answers in flight hold.
        """
        super().__init__()
        self._all_held = HeldBytes() if held is None else held
        self._held = 0
        self._counted_bytes = 0
        self.answer = answer
        self.finished = False
        self.can_buffer = False
        self.scan: EventScan | None = None
        self._complete = False
        self._patterns = patterns
        self._streamed = streamed
        self._sampled = sampled
        self._chunked = False
        self._pieces: list[bytes | bytearray] = []
        self._on_body = self._pieces.append  # no Python frame for each HTTP chunk
        self._body = bytearray()
        self._in_body = False
        self._head: list[list[str]] = []
        self._head_size = 0
        self._after_value = True

    def feed_read(self, data: bytes, at_ns: int) -> None:
        """Parse the bytes of one read."""
        pieces = self._pieces
        try:
            self.feed(data)
            if pieces:
                body = bytes(pieces[0]) if len(pieces) == 1 else b"".join(pieces)
                pieces.clear()
                self._add_body(body, at_ns)
        except HTTPParseError as error:
            self.fail("malformed-http", str(error.args[0]), at_ns)
        except TooLarge as error:
            self.fail("too-large", str(error), at_ns)
        if self.finished and not self.answer.ended_ns:
            self._finish(at_ns)

    def feed_reads(self, reads: Sequence[bytes], stamps_ns: Sequence[int]) -> None:
        """Parse the bytes of several reads, each with its own time; the result is that of `feed_read` for each."""
        pieces, feed = self._pieces, self.feed
        ends: list[int] = []  # for each read how many pieces there were after it
        try:
            for data in reads:
                feed(data)
                ends.append(len(pieces))
                if self.finished:
                    break
        except HTTPParseError as error:
            failed_ns = stamps_ns[len(ends)]
            self._add_pieces(ends, stamps_ns)
            if not self.answer.ended_ns:
                self.fail("malformed-http", str(error.args[0]), failed_ns)
            return
        one_each = ends == list(range(1, len(reads) + 1))
        try:
            if self.finished or not one_each or not self._add_single_events(stamps_ns):
                self._add_pieces(ends, stamps_ns)
        except TooLarge as error:
            self.fail("too-large", str(error), stamps_ns[len(ends) - 1])
        pieces.clear()
        if self.finished and not self.answer.ended_ns:
            self._finish(stamps_ns[len(ends) - 1])

    def end_connection(self, detail: str, at_ns: int) -> None:
        """Handle the end of the connection: it ends an answer without a length, and cuts off any other."""
        if self._in_body and self.answer.status and not self._has_length():
            self._finish(at_ns)
        else:
            self.fail("cut-off" if self.answer.status else "no-answer", detail, at_ns)
        self.finished = True

    def fail(self, kind: str, detail: str, at_ns: int) -> None:
        """End the answer as a failure with the given name."""
        self._copy_scan()
        self.answer.failure, self.answer.detail = kind, detail[:MAX_DETAIL]
        self.answer.ended_ns = at_ns
        self.finished, self._complete = True, False

    @property
    def reusable(self) -> bool:
        """Whether the connection can carry another request."""
        return self._complete and not self.parser_failed() and self.should_keep_alive()

    def header(self, name: str) -> str | None:
        """Return the value of a header, by its lower-case name."""
        return next((value.strip() for key, value in self._head if key.lower() == name), None)

    def _has_length(self) -> bool:
        return self.header("content-length") is not None or self.header("transfer-encoding") is not None

    def _add_body(self, data: bytes, at_ns: int) -> None:
        """Add the body bytes of one read."""
        self.answer.size_bytes += len(data)
        if self._sampled:
            self._keep_sample([(at_ns, data)])
        if self.scan is not None:
            self.scan.feed(data, at_ns)
            if self.scan.events > MAX_EVENTS:
                raise TooLarge(f"a stream of more than {MAX_EVENTS} events")
            if self.scan.counts:
                self.can_buffer = self._chunked
        else:
            self._body += data
            if len(self._body) > MAX_BODY:
                raise TooLarge(f"an answer of more than {MAX_BODY} bytes")
        if self.answer.size_bytes - self._counted_bytes >= STEP_BYTES:
            self._count_held()

    def _count_held(self) -> None:
        self._counted_bytes = self.answer.size_bytes
        held = len(self._body) + (0 if self.scan is None else self.scan.held_bytes)
        self._held = self._all_held.change(self._held, held + self.answer.sample_bytes)

    def release(self) -> None:
        """Free what the parser holds."""
        self._held = self._all_held.change(self._held, 0)
        self._body.clear()

    def _add_single_events(self, stamps_ns: Sequence[int]) -> bool:
        """Add pieces that are one read and one event each; add nothing and return False if they are not."""
        scan, pieces = self.scan, self._pieces
        if scan is None or scan.events + len(pieces) > MAX_EVENTS or not scan.feed_single_events(pieces, stamps_ns):
            return False
        self.answer.size_bytes += sum(map(len, pieces))
        if self._sampled:
            self._keep_sample(zip(stamps_ns, map(bytes, pieces), strict=True))
        if self.answer.size_bytes - self._counted_bytes >= STEP_BYTES:
            self._count_held()
        return True

    def _add_pieces(self, ends: Sequence[int], stamps_ns: Sequence[int]) -> None:
        """Add the pieces read by read; `ends` are the indexes at which the reads end."""
        start = 0
        for end, at_ns in zip(ends, stamps_ns, strict=False):  # after an error some reads are left out
            body = b"".join(self._pieces[start:end])
            start = end
            try:
                if body:
                    self._add_body(body, at_ns)
            except TooLarge as error:
                self.fail("too-large", str(error), at_ns)
                return

    def _keep_sample(self, received: Iterable[tuple[int, bytes]]) -> None:
        self.answer.segments.extend(received)
        if self.answer.sample_bytes > MAX_SAMPLE:
            self.answer.segments.clear()
            self._sampled = False

    def _copy_scan(self) -> None:
        if self.scan is not None:
            scan, answer = self.scan, self.answer
            answer.events, answer.coalesced_reads = scan.events, scan.coalesced_reads
            answer.usage, answer.finish_reason = scan.usage, scan.finish_reason

    def _finish(self, at_ns: int) -> None:
        answer, scan = self.answer, self.scan
        if scan is not None:
            scan.close(at_ns)
        self._copy_scan()
        answer.ended_ns = at_ns
        if not 200 <= answer.status < 300:
            classify_error_status(answer, bytes(self._body), self.header)
        elif (encoding := self.header("content-encoding") or "identity").lower() != "identity":
            answer.failure = "encoded"
            answer.detail = f"content encoding {encoding}, but only identity was accepted"[:MAX_DETAIL]
        elif scan is not None:
            classify_stream(answer, scan)
        elif self._streamed:
            text = bytes(self._body[:MAX_DETAIL]).decode(errors="replace")
            answer.failure = "no-stream"
            answer.detail = f"content type {self.header('content-type') or 'missing'}: {text}"
        else:
            classify_json(answer, bytes(self._body))

    # Callbacks of the HTTP parser, in the order of the bytes.

    def _on_status(self, _: str) -> None: ...

    def _on_message_begin(self) -> None:
        self._head, self._after_value = [], True

    def _on_header_field(self, piece: str) -> None:
        self._check_head_size(piece)
        if self._after_value:
            self._head.append(["", ""])
            self._after_value = False
        self._head[-1][0] += piece

    def _on_header_value(self, piece: str) -> None:
        self._check_head_size(piece)
        self._after_value = True
        self._head[-1][1] += piece

    def _check_head_size(self, piece: str) -> None:
        self._head_size += len(piece)
        if self._head_size > MAX_HEAD:
            raise TooLarge(f"headers of more than {MAX_HEAD} bytes")

    def _on_headers_complete(self) -> bool:
        code = self.get_code()
        if code >= 200:  # a lower status is an interim answer
            self.answer.status = code
            self._in_body = True
            self._chunked = "chunked" in (self.header("transfer-encoding") or "").lower()
            media = (self.header("content-type") or "").partition(";")[0].strip().lower()
            if media == "text/event-stream" and code < 300:
                self.scan = EventScan(self._patterns)
                self.answer.stamps_ns, self.answer.counts = self.scan.stamps_ns, self.scan.counts
        return False

    def _on_message_complete(self) -> None:
        self.finished = self._complete = self._in_body
