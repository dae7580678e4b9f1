"""A scan: what a load test needs to know of an event stream, found by counting bytes rather than by parsing.

An event bears content when a delta of it holds text, reasoning or a tool call. Such events are recognised by the
bytes in front of their text, which are learned from the first event that is parsed and differ between servers only
by the key and by the space behind its colon. Bytes like these cannot stand inside a text, where quotes are escaped.
What no known bytes mark is parsed. Nothing here does I/O or knows the time but by its arguments.
"""

from __future__ import annotations

import json
import re
from collections import deque
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DONE: Final = b"[DONE]"
SPOKEN: Final = ("content", "reasoning_content", "reasoning")
DECODE: Final = json.JSONDecoder().raw_decode
"""Without the search for an encoding that `json.loads` begins with; it takes no blanks around."""
BLANK: Final = b" \t\n\r"
NOTHING: Final = re.compile(rb"(?!)")
LINE: Final = rb'[^"\n][^\n]*\n\n'
"""The rest of an event of one line, so that none is counted twice."""
LAST: Final = 6
"""Reads, and events of each, in which the end of a stream is looked for: finish, usage, [DONE] and comments."""
LARGEST_EVENT: Final = 8 * 1024 * 1024
"""Bytes of an event that is still not complete when the scan gives up."""


class TooLarge(ValueError):
    """An event that outgrows `LARGEST_EVENT`."""


class Marks:
    """The bytes that stand before a text, as far as they were learned; a server's streams share them."""

    __slots__ = ("_known", "found")

    def __init__(self) -> None:
        self._known: list[bytes] = []
        self.found: Callable[[bytes], list[bytes]] = NOTHING.findall
        """Finds what follows a mark: so many events of some bytes bear content."""

    def learn(self, key: str, raw: bytes) -> None:
        """Notes how a key that bears text stands in some bytes."""
        for colon in (b":", b": "):
            mark = b'"%b"%b"' % (key.encode(), colon)
            if mark in raw and mark not in self._known:
                self._known.append(mark)
                either = b"|".join(re.escape(each) for each in self._known)
                either = b"(?:%b)" % either if len(self._known) > 1 else either  # bytes alone are searched faster
                self.found = re.compile(either + b"()" + LINE).findall  # an empty group: nothing is copied


class Scan:
    """Reads one stream, with what other streams of its server have taught, if any.

    `stamps_ns` are the arrival times of reads that brought content-bearing events, `counts` how many each brought.
    `events` counts all events, `content_reads` and `coalesced_reads` the reads with any and with several of them.
    """

    __slots__ = (
        "_last",
        "_marks",
        "_parsed",
        "_tail",
        "coalesced_reads",
        "counts",
        "done",
        "error",
        "events",
        "stamps_ns",
    )

    def __init__(self, marks: Marks | None = None) -> None:
        self.stamps_ns: list[int] = []
        self.counts: list[int] = []
        self.events = 0
        self.coalesced_reads = 0
        self.done = 0
        self.error: Any = None
        self._tail = b""
        self._marks = Marks() if marks is None else marks
        self._parsed: list[tuple[bytes, dict[str, Any]]] = []
        self._last: deque[bytes] = deque(maxlen=LAST)

    def feed(self, data: bytes, at_ns: int) -> None:
        """Takes what one read brought. Raises TooLarge."""
        if self._tail:
            data = self._tail + data
            self._tail = b""
        if not data.endswith(b"\n\n"):
            data = self._whole(data)
            if not data:
                return
        content = events = len(self._marks.found(data))
        # Beginnings and ends, rarely more; all else is one line with content.
        if data.count(b"\n") != 2 * content or b"\r" in data:
            data = _in_lines(data)
            events = data.count(b"\n\n")
            content = self._parse(data)
        self._last.append(data)
        self.events += events
        if content:
            self.stamps_ns.append(at_ns)
            self.counts.append(content)
            self.coalesced_reads += content > 1

    def feed_alike(self, pieces: Sequence[bytes | bytearray], stamps_ns: Sequence[int]) -> bool:
        """Takes many reads at once, if each is one event with content; else takes nothing and says so.

        A CR, which none may hold, is put behind each: so that no piece can lend another its line ends.
        """
        number, data = len(pieces), b"\r".join([*pieces, b""])
        if (
            self._tail
            or data.count(b"\n") != 2 * number
            or data.count(b"\n\n\r") != number
            or data.count(b"\r") != number
            or len(self._marks.found(data)) != number
        ):
            return False
        self._last.extend(map(bytes, pieces[-LAST:]))
        self.events += number
        self.stamps_ns.extend(stamps_ns)
        self.counts.extend([1] * number)
        return True

    def close(self, at_ns: int) -> None:
        """Ends the stream: a CR held back was a line end. An event without its blank line is none, as for browsers."""
        data = _in_lines(self._tail)
        self._tail = b""
        if data.endswith(b"\n\n"):
            self.feed(data, at_ns)

    def _whole(self, data: bytes) -> bytes:
        """The whole events of some bytes; the rest is held back."""
        held = b""
        if b"\r" in data:
            if data.endswith(b"\r"):  # its LF may be on the way
                data, held = data[:-1], b"\r"
            data = _in_lines(data)
        cut = data.rfind(b"\n\n")
        cut = 0 if cut < 0 else cut + 2
        self._tail = data[cut:] + held
        if len(self._tail) > LARGEST_EVENT:
            raise TooLarge(f"an event of more than {LARGEST_EVENT} bytes")
        return data[:cut]

    def _parse(self, data: bytes) -> int:
        """How many events bear content, by parsing them where no known bytes tell it; learns the bytes that mark them,
        notes ends and errors."""
        content, parsed, marks = 0, [], self._marks
        for event in data.removesuffix(b"\n\n").split(b"\n\n"):
            if b"\n" not in event and marks.found(event + b"\n\n"):
                content += 1
                continue
            raw = _data(event)
            if raw == DONE:
                self.done += 1
                continue
            chunk = _object(raw) if raw else {}
            parsed.append((event, chunk))
            spoken = [key for delta in _deltas(chunk) for key in _speaks(delta)]
            content += bool(spoken)
            for key in spoken:
                marks.learn(key, raw)
            if chunk.get("error") is not None or chunk.get("object") == "error" or b"event: error" in event:
                self.error = chunk or event.decode(errors="replace")
        self._parsed = parsed[-LAST:]
        return content

    @property
    def usage(self) -> dict[str, Any] | None:
        """The last usage that was sent, {} excluded."""
        found = (chunk.get("usage") for chunk in self._last_chunks(b'"usage"'))
        return next((each for each in found if isinstance(each, dict) and each), None)

    @property
    def finish_reason(self) -> str | None:
        """The last finish reason that was sent."""
        for chunk in self._last_chunks(b'"finish_reason"'):
            choices = chunk.get("choices")
            for choice in reversed(choices) if isinstance(choices, list) else ():
                reason = choice.get("finish_reason") if isinstance(choice, dict) else None
                if isinstance(reason, str) and reason:
                    return reason
        return None

    def _last_chunks(self, name: bytes) -> Iterator[dict[str, Any]]:
        """The chunks of the last reads, the last one first, that hold a name: what ends a stream stands in them."""
        parsed = dict(self._parsed)
        for data in reversed(self._last):
            for event in reversed(data.split(b"\n\n")[-LAST:]):
                if name in event:
                    chunk = parsed.get(event)
                    yield _object(_data(event)) if chunk is None else chunk

    @property
    def content_events(self) -> int:
        """Events that bear content."""
        return sum(self.counts)


def _in_lines(data: bytes) -> bytes:
    """With LF for every line end: a raw CR is nothing else, as JSON escapes it."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _data(event: bytes) -> bytes:
    """The data of an event, its lines joined."""
    if b"\n" not in event:
        return event[5:].removeprefix(b" ") if event.startswith(b"data:") else b""
    lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
    return lines[0] if len(lines) == 1 else b"\n".join(lines)


def _object(raw: bytes) -> dict[str, Any]:
    try:
        text = raw.strip(BLANK).decode("utf-8", "surrogatepass")
        value, end = DECODE(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) and end == len(text) else {}


def _deltas(chunk: dict[str, Any]) -> list[dict[str, Any]]:
    choices = chunk.get("choices")
    deltas = (
        [choice.get("delta") for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    )
    return [delta for delta in deltas if isinstance(delta, dict)]


def _speaks(delta: dict[str, Any]) -> list[str]:
    """The keys under which a delta holds text; a tool call's text is its arguments."""
    spoken = [key for key in SPOKEN if isinstance(delta.get(key), str) and delta[key]]
    return [*spoken, "arguments"] if delta.get("tool_calls") else spoken
