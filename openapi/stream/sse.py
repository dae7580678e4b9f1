"""Event streams as bytes: an encoder, and a decoder that keeps what a judge wants to know.

The decoder follows "9.2.6 Interpreting an event stream" of the HTML Standard (html.spec.whatwg.org,
multipage/server-sent-events.html). It works on bytes and ends lines at LF, CR and CRLF only, because U+2028
and U+0085 are ordinary characters inside JSON. Time and memory are linear in the bytes, however they are cut.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from openapi.stream.anomaly import Flaw, FlawKind
from openapi.stream.strict_json import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MAX_EVENTS", "MEDIA_TYPE", "Decoded", "Decoder", "Event", "Flaw", "FlawKind", "decode", "encode"]

MEDIA_TYPE: Final = "text/event-stream"
MAX_EVENTS: Final = 100_000
"""Events read by default. An answer of 32k tokens has a third of that; a hostile one of 32 MiB has millions."""
LINES_PER_EVENT: Final = 10
"""Lines read for each event allowed, so that a flood of comments or blank lines ends as well."""
KEPT_PER_KIND: Final = 10
"""Flaws recorded of each kind; a hostile stream repeats itself millions of times. All of them are counted."""

_BOM: Final = b"\xef\xbb\xbf"
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_LINE_END_NAMES: Final = {b"\n": "LF", b"\r": "CR", b"\r\n": "CRLF"}
_FIELDS: Final = frozenset({"data", "event", "id", "retry"})


@dataclass(frozen=True, slots=True)
class Event:
    """One dispatched event.

    `data` is joined by LF; `event` is "message" unless the stream names another; `id` is the last id seen.
    `at_s` is when the segment that completed it arrived, in seconds from the request's start.
    `offset` is where its first field line starts, in bytes from the start of the body.
    """

    data: str
    event: str
    id: str
    at_s: float
    offset: int


@dataclass(frozen=True, slots=True)
class Decoded:
    """A whole stream. `flaws` holds the first of each kind by offset, `flaw_counts` how many there were.

    `line_ends` is a subset of {"LF", "CR", "CRLF"}; `comments` counts comment lines; `unspaced` counts `data`
    lines without a space after the colon; `unterminated` is the data of a last event without its blank line.
    """

    events: tuple[Event, ...]
    flaws: tuple[Flaw, ...]
    flaw_counts: dict[FlawKind, int]
    comments: int
    unspaced: int
    line_ends: frozenset[str]
    unterminated: str


def encode(data: str | bytes) -> bytes:
    """One event that decodes to `data`, each of its lines behind its own `data: `.

    CR and CRLF inside `data` come back as LF: the format cannot carry them. A str with a lone surrogate raises
    UnicodeEncodeError: UTF-8 cannot carry it.
    """
    raw = data.encode() if isinstance(data, str) else data
    if b"\n" not in raw and b"\r" not in raw:  # as nearly always
        return b"data: %b\n\n" % raw
    return b"".join(b"data: %b\n" % line for line in _LINE_END.split(raw)) + b"\n"


class Decoder:
    """Reads a stream piece by piece. `feed` returns the events that a piece completed.

    `max_events` bounds the work on a hostile stream: what follows is not read, which is noted as a flaw.
    """

    def __init__(self, *, max_events: int = MAX_EVENTS) -> None:
        self.flaws: list[Flaw] = []
        self.flaw_counts: Counter[FlawKind] = Counter()
        self.comments = 0
        self.unspaced = 0
        self.unterminated = ""
        self._events_left = max_events
        self._lines_left = max_events * LINES_PER_EVENT  # below 0: given up
        self._line_ends: set[str] = set()
        self._pending = bytearray()  # an unfinished line
        self._line_offset = 0  # of the line being read
        self._fed = 0
        self._after_cr = False  # the last byte so far was a CR that ended a line
        self._last_id = ""
        self._data: list[str] = []
        self._event = ""
        self._block_offset: int | None = None  # of the block's first field line

    @property
    def line_ends(self) -> frozenset[str]:
        """The line ends seen so far; a CR that ended the last piece counts once what follows it is known."""
        return frozenset(self._line_ends)

    def feed(self, data: bytes, at_s: float) -> list[Event]:
        """The events that `data`, which arrived at `at_s`, completes. A CR completes a line at once."""
        events: list[Event] = []
        if self._lines_left < 0:
            return events
        start = int(self._after_cr and data.startswith(b"\n"))
        if self._after_cr and data:
            self._note_line_end("CRLF" if start else "CR", self._fed - 1)
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
                self._note_line_end(_LINE_END_NAMES[end.group()], self._fed + end.start())
            self._read_line(line, at_s, events)
            if self._lines_left < 0:
                return events
            self._line_offset = self._fed + start
        self._pending += data[start:]
        self._fed += len(data)
        return events

    def close(self, at_s: float) -> list[Event]:
        """Ends the stream. What no blank line completed is a flaw and becomes `unterminated`.

        Always an empty list, as the standard never dispatches a last event without its blank line.
        """
        events: list[Event] = []
        if self._after_cr:
            self._note_line_end("CR", self._fed - 1)
            self._after_cr = False
        if self._pending:
            line, self._pending = bytes(self._pending), bytearray()
            self._read_line(line, at_s, events)
        if self._block_offset is not None:
            self.unterminated = "\n".join(self._data)
            if self._data or self._event:
                self._note(FlawKind.UNTERMINATED_EVENT, self._block_offset, quote(self.unterminated))
            self._clear_block()
        return events

    def _read_line(self, line: bytes, at_s: float, events: list[Event]) -> None:
        offset = self._line_offset
        if self._lines_left == 0:
            self._give_up(offset)
            return
        self._lines_left -= 1
        if offset == 0 and line.startswith(_BOM):
            self._note(FlawKind.BOM, 0, "EF BB BF")
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
            self._note(FlawKind.INVALID_UTF8, offset + error.start, detail)
        colon = text.find(":")
        if colon == 0:
            self.comments += 1
            return
        name = text if colon < 0 else text[:colon]
        if name not in _FIELDS:
            kind = FlawKind.NO_COLON_LINE if colon < 0 else FlawKind.UNKNOWN_FIELD
            self._note(kind, offset, quote(text))
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
            self._note(FlawKind.NUL_IN_ID, offset, quote(value))
        elif not (value.isascii() and value.isdigit()):
            self._note(FlawKind.BAD_RETRY, offset, quote(value))

    def _dispatch(self, at_s: float, events: list[Event]) -> None:
        if self._block_offset is None:
            return
        if not self._data:
            # `id` or `retry` alone is a legal way to set them; a block that names an event meant to send it.
            if self._event:
                self._note(FlawKind.EVENT_WITHOUT_DATA, self._block_offset, quote(self._event))
        elif self._events_left == 0:
            self._give_up(self._block_offset)
        else:
            self._events_left -= 1
            data = "\n".join(self._data)
            events.append(Event(data, self._event or "message", self._last_id, at_s, self._block_offset))
        self._clear_block()

    def _give_up(self, offset: int) -> None:
        self._note(FlawKind.UNREAD_REST, offset, "the rest was not read")
        self._lines_left = -1
        self._after_cr = False
        self._clear_block()

    def _clear_block(self) -> None:
        self._data = []
        self._event = ""
        self._block_offset = None

    def _note_line_end(self, name: str, offset: int) -> None:
        if name not in self._line_ends:
            self._line_ends.add(name)
            if len(self._line_ends) == 2:
                self._note(FlawKind.MIXED_LINE_ENDS, offset, f"first {name} here")

    def _note(self, kind: FlawKind, offset: int, detail: str) -> None:
        self.flaw_counts[kind] += 1
        if self.flaw_counts[kind] <= KEPT_PER_KIND:
            self.flaws.append(Flaw(kind, offset, detail))


def decode(segments: Iterable[tuple[float, bytes]], *, max_events: int = MAX_EVENTS) -> Decoded:
    """Decodes a whole body, given as pairs of arrival time in seconds and bytes."""
    decoder = Decoder(max_events=max_events)
    events: list[Event] = []
    last_s = 0.0
    for at_s, data in segments:
        events += decoder.feed(data, at_s)
        last_s = at_s
    events += decoder.close(last_s)
    return Decoded(
        events=tuple(events),
        flaws=tuple(sorted(decoder.flaws, key=lambda flaw: (flaw.offset, flaw.kind))),
        flaw_counts=dict(decoder.flaw_counts),
        comments=decoder.comments,
        unspaced=decoder.unspaced,
        line_ends=decoder.line_ends,
        unterminated=decoder.unterminated,
    )
