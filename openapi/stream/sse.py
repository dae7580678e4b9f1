"""Encode and decode event streams as bytes; the decoder also reports anomalies.

The decoder follows "9.2.6 Interpreting an event stream" of the HTML Standard (html.spec.whatwg.org,
multipage/server-sent-events.html). It works on bytes and ends lines only at LF, CR and CRLF, because U+2028 and U+0085
are ordinary characters inside JSON. Time and memory are linear in the number of bytes, whatever the segment sizes.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from openapi.stream.anomaly import Anomaly, AnomalyKind
from openapi.stream.strict_json import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

MEDIA_TYPE: Final = "text/event-stream"
MAX_EVENTS: Final = 100_000
"""Default limit on events. An answer of 32k tokens has a third of that; a hostile one of 32 MiB has millions."""
LINES_PER_EVENT: Final = 10
"""Limit on lines per allowed event, so that a flood of comments or blank lines also ends."""
MAX_PER_KIND: Final = 10
"""Anomalies of each kind that are recorded; a hostile stream may have millions. All of them are counted."""

_BOM: Final = b"\xef\xbb\xbf"
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_LINE_END_NAMES: Final = {b"\n": "LF", b"\r": "CR", b"\r\n": "CRLF"}
_FIELDS: Final = frozenset({"data", "event", "id", "retry"})


@dataclass(frozen=True, slots=True)
class Event:
    """One dispatched event.

    data: the data lines, joined by LF.
    event: "message" unless the stream names another type.
    id: the last id in the stream so far.
    at_s: arrival time of the segment that completed the event, in seconds since the start of the request.
    offset: byte offset of its first field line from the start of the body.
    """

    data: str
    event: str
    id: str
    at_s: float
    offset: int


@dataclass(frozen=True, slots=True)
class Decoded:
    """A whole stream.

    anomalies: the first ones of each kind, by offset.
    anomaly_counts: the number of anomalies of each kind.
    comments: number of comment lines.
    unspaced: number of `data` lines without a space after the colon.
    line_ends: a subset of {"LF", "CR", "CRLF"}.
    unterminated: the data of a last event without its blank line.
    """

    events: tuple[Event, ...]
    anomalies: tuple[Anomaly, ...]
    anomaly_counts: dict[AnomalyKind, int]
    comments: int
    unspaced: int
    line_ends: frozenset[str]
    unterminated: str


def encode(data: str | bytes) -> bytes:
    """Encode one event that decodes to `data`; each line becomes a `data` field.

    CR and CRLF inside `data` are decoded as LF, because the format cannot represent them. A str with a lone surrogate
    raises UnicodeEncodeError, because UTF-8 cannot represent it.
    """
    raw = data.encode() if isinstance(data, str) else data
    if b"\n" not in raw and b"\r" not in raw:  # the usual case
        return b"data: %b\n\n" % raw
    return b"".join(b"data: %b\n" % line for line in _LINE_END.split(raw)) + b"\n"


class Decoder:
    """Decodes a stream segment by segment: `feed` returns the events that a segment completes.

    `max_events` limits the work on a hostile stream. The rest is not read, which is reported as an anomaly.
    """

    def __init__(self, *, max_events: int = MAX_EVENTS) -> None:
        self.anomalies: list[Anomaly] = []
        self.anomaly_counts: Counter[AnomalyKind] = Counter()
        self.comments = 0
        self.unspaced = 0
        self.unterminated = ""
        self._events_left = max_events
        self._lines_left = max_events * LINES_PER_EVENT  # below 0: the limit is exceeded
        self._line_ends: set[str] = set()
        self._pending = bytearray()  # an incomplete line
        self._line_offset = 0  # of the current line
        self._fed = 0
        self._after_cr = False  # the last byte was a CR that ended a line
        self._last_id = ""
        self._data: list[str] = []
        self._event = ""
        self._block_offset: int | None = None  # of the first field line of the current block

    @property
    def line_ends(self) -> frozenset[str]:
        """The line ends so far; a CR at the end of the last segment counts when the next byte is known."""
        return frozenset(self._line_ends)

    def feed(self, data: bytes, at_s: float) -> list[Event]:
        """Return the events that `data`, which arrived at `at_s`, completes. A CR completes a line immediately."""
        events: list[Event] = []
        if self._lines_left < 0:
            return events
        start = int(self._after_cr and data.startswith(b"\n"))
        if self._after_cr and data:
            self._record_line_end("CRLF" if start else "CR", self._fed - 1)
            self._after_cr = False
            self._line_offset += start
        for end in _LINE_END.finditer(data, start):
            line = data[start : end.start()]
            if self._pending:
                line = bytes(self._pending) + line
                self._pending = bytearray()
            start = end.end()
            self._after_cr = end.group() == b"\r" and start == len(data)
            if not self._after_cr:
                self._record_line_end(_LINE_END_NAMES[end.group()], self._fed + end.start())
            self._read_line(line, at_s, events)
            if self._lines_left < 0:
                return events
            self._line_offset = self._fed + start
        self._pending += data[start:]
        self._fed += len(data)
        return events

    def close(self, at_s: float) -> list[Event]:
        """End the stream. An event without its blank line is an anomaly; its data becomes `unterminated`.

        Returns an empty list, because the standard never dispatches an event without its blank line.
        """
        events: list[Event] = []
        if self._after_cr:
            self._record_line_end("CR", self._fed - 1)
            self._after_cr = False
        if self._pending:
            line, self._pending = bytes(self._pending), bytearray()
            self._read_line(line, at_s, events)
        if self._block_offset is not None:
            self.unterminated = "\n".join(self._data)
            if self._data or self._event:
                self._report(AnomalyKind.UNTERMINATED_EVENT, self._block_offset, quote(self.unterminated))
            self._clear_block()
        return events

    def _read_line(self, line: bytes, at_s: float, events: list[Event]) -> None:
        offset = self._line_offset
        if self._lines_left == 0:
            self._stop_reading(offset)
            return
        self._lines_left -= 1
        if offset == 0 and line.startswith(_BOM):
            self._report(AnomalyKind.BOM, 0, "EF BB BF")
            line = line[len(_BOM) :]
            offset += len(_BOM)
        if not line:
            self._dispatch(at_s, events)
            return
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            text = line.decode(errors="replace")
            detail = f"byte 0x{line[error.start]:02X}: {error.reason}"
            self._report(AnomalyKind.INVALID_UTF8, offset + error.start, detail)
        colon = text.find(":")
        if colon == 0:
            self.comments += 1
            return
        name = text if colon < 0 else text[:colon]
        if name not in _FIELDS:
            kind = AnomalyKind.NO_COLON_LINE if colon < 0 else AnomalyKind.UNKNOWN_FIELD
            self._report(kind, offset, quote(text))
            return
        if self._block_offset is None:
            self._block_offset = offset
        spaced = text.startswith(" ", colon + 1)
        value = "" if colon < 0 else text[colon + 1 + spaced :]
        if name == "data":
            self._data.append(value)
            self.unspaced += colon > 0 and not spaced
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._last_id = value
        elif name == "id":
            self._report(AnomalyKind.NUL_IN_ID, offset, quote(value))
        elif not (value.isascii() and value.isdigit()):
            self._report(AnomalyKind.BAD_RETRY, offset, quote(value))

    def _dispatch(self, at_s: float, events: list[Event]) -> None:
        if self._block_offset is None:
            return
        if not self._data:
            # A block with only `id` or `retry` is legal and sets them. A block that names an event should have data.
            if self._event:
                self._report(AnomalyKind.EVENT_WITHOUT_DATA, self._block_offset, quote(self._event))
        elif self._events_left == 0:
            self._stop_reading(self._block_offset)
        else:
            self._events_left -= 1
            data = "\n".join(self._data)
            events.append(Event(data, self._event or "message", self._last_id, at_s, self._block_offset))
        self._clear_block()

    def _stop_reading(self, offset: int) -> None:
        self._report(AnomalyKind.UNREAD_REST, offset, "the rest was not read")
        self._lines_left = -1
        self._after_cr = False
        self._clear_block()

    def _clear_block(self) -> None:
        self._data = []
        self._event = ""
        self._block_offset = None

    def _record_line_end(self, name: str, offset: int) -> None:
        if name not in self._line_ends:
            self._line_ends.add(name)
            if len(self._line_ends) == 2:
                self._report(AnomalyKind.MIXED_LINE_ENDS, offset, f"first {name} here")

    def _report(self, kind: AnomalyKind, offset: int, detail: str) -> None:
        self.anomaly_counts[kind] += 1
        if self.anomaly_counts[kind] <= MAX_PER_KIND:
            self.anomalies.append(Anomaly(kind, offset, detail))


def decode(segments: Iterable[tuple[float, bytes]], *, max_events: int = MAX_EVENTS) -> Decoded:
    """Decode a whole body, given as segments: pairs of arrival time in seconds and bytes."""
    decoder = Decoder(max_events=max_events)
    events: list[Event] = []
    last_s = 0.0
    for at_s, data in segments:
        events += decoder.feed(data, at_s)
        last_s = at_s
    events += decoder.close(last_s)
    return Decoded(
        events=tuple(events),
        anomalies=tuple(sorted(decoder.anomalies, key=lambda anomaly: (anomaly.offset, anomaly.kind))),
        anomaly_counts=dict(decoder.anomaly_counts),
        comments=decoder.comments,
        unspaced=decoder.unspaced,
        line_ends=decoder.line_ends,
        unterminated=decoder.unterminated,
    )
