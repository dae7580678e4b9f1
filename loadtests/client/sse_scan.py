"""Count the events and the content of an event stream from its bytes, with as little parsing as possible.

An event has content when one of its deltas holds text, reasoning or a tool call. Such events are recognised by the
bytes in front of the text. These bytes are learned from the first event that is parsed; they differ between servers
only by the key and by the space after its colon, and they cannot occur inside a JSON string, where quotes are
escaped. After that an event costs one regular expression. Whatever the known bytes do not explain, such as a wrong
count of line ends, is parsed. What one stream teaches is shared by the later streams of a connection, so that of
these three events are parsed: the role, the finish and the usage. Does no I/O, and knows the time only from its
arguments.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from loadtests.client.held_bytes import TooLarge
from openapi.server_values import read_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableSequence, Sequence

DONE: Final = b"[DONE]"
CONTENT_KEYS: Final = ("content", "reasoning_content", "reasoning")
DECODE: Final = json.JSONDecoder().raw_decode
"""Unlike `json.loads`, it does not detect the encoding first and does not accept surrounding whitespace."""
WHITESPACE: Final = b" \t\n\r"
MATCH_NOTHING: Final = re.compile(rb"(?!)")
REST_OF_EVENT: Final = rb'[^"\n][^\n]*\n\n'
"""The rest of an event of one line, so that no event is counted twice."""
LAST: Final = 6
"""How many reads, and events of each, are searched for the end of a stream: finish, usage, [DONE] and comments."""
MAX_EVENT: Final = 1024 * 1024
"""The most bytes of an event that is not complete yet."""
MAX_PARSED: Final = 64 * 1024
"""The most bytes of an event whose JSON is kept; a larger one is parsed again if it turns out to be the last."""
STAMP_BYTES: Final = 16
"""The memory of the time and the count of a read."""


class ContentPatterns:
    """The bytes in front of the content, as far as they have been learned; shared by the streams of a server."""

    __slots__ = ("_known", "find_all")

    def __init__(self) -> None:
        self._known: list[bytes] = []
        self.find_all: Callable[[bytes], list[bytes]] = MATCH_NOTHING.findall
        """Returns one item for each event with content."""

    def learn(self, key: str, raw: bytes) -> None:
        """Learn how a key that has text is written in an event."""
        for colon in (b":", b": "):
            pattern = b'"%b"%b"' % (key.encode(), colon)
            if pattern in raw and pattern not in self._known:
                self._known.append(pattern)
                either = b"|".join(re.escape(known) for known in self._known)
                either = b"(?:%b)" % either if len(self._known) > 1 else either  # a literal is searched faster
                self.find_all = re.compile(either + b"()" + REST_OF_EVENT).findall  # the empty group avoids copies


class EventScan:
    """The state of one stream.

    stamps_ns: the arrival times of the reads with content. counts: how many events with content each of them brought.
    events: the number of all events. coalesced_reads: how many reads brought several events with content.
    """

    __slots__ = (
        "_last",
        "_parsed",
        "_patterns",
        "_tail",
        "coalesced_reads",
        "counts",
        "done",
        "error",
        "events",
        "stamps_ns",
    )

    def __init__(self, patterns: ContentPatterns | None = None) -> None:
        self.stamps_ns: MutableSequence[int] = array("q")
        self.counts: MutableSequence[int] = array("q")
        self.events = 0
        self.coalesced_reads = 0
        self.done = 0
        self.error: Any = None
        self._tail = b""
        self._patterns = ContentPatterns() if patterns is None else patterns
        self._parsed: list[tuple[bytes, dict[str, Any]]] = []
        self._last: deque[bytes] = deque(maxlen=LAST)

    def feed(self, data: bytes, at_ns: int) -> None:
        """Scan the bytes of one read. Raise TooLarge for an event that is too long."""
        if self._tail:
            data = self._tail + data
            self._tail = b""
        if not data.endswith(b"\n\n"):
            data = self._split_tail(data)
            if not data:
                return
        content = events = len(self._patterns.find_all(data))
        # Only the beginning and the end of a stream, and rarely anything else, are not one line with content.
        if data.count(b"\n") != 2 * content or b"\r" in data:
            data = _normalize_line_ends(data)
            events = data.count(b"\n\n")
            content = self._parse(data)
        self._last.append(data)
        self.events += events
        if content:
            self.stamps_ns.append(at_ns)
            self.counts.append(content)
            self.coalesced_reads += content > 1

    def feed_single_events(self, pieces: Sequence[bytes | bytearray], stamps_ns: Sequence[int]) -> bool:
        """Scan many reads at once if each is one event with content; else change nothing and return False.

        A CR, which no event may contain, is put after each piece, so that the line ends of one cannot complete another.
        """
        number, data = len(pieces), b"\r".join([*pieces, b""])
        if (
            self._tail
            or data.count(b"\n") != 2 * number
            or data.count(b"\n\n\r") != number
            or data.count(b"\r") != number
            or len(self._patterns.find_all(data)) != number
        ):
            return False
        self._last.extend(map(bytes, pieces[-LAST:]))
        self.events += number
        self.stamps_ns.extend(stamps_ns)
        self.counts.extend([1] * number)
        return True

    def close(self, at_ns: int) -> None:
        """End the stream.

        A CR at the end was a line end. An event without its blank line is dropped, as browsers do.
        """
        data = _normalize_line_ends(self._tail)
        self._tail = b""
        if data.endswith(b"\n\n"):
            self.feed(data, at_ns)

    def _split_tail(self, data: bytes) -> bytes:
        """Return the complete events, and keep the rest for the next read."""
        held = b""
        if b"\r" in data:
            if data.endswith(b"\r"):  # its LF may follow
                data, held = data[:-1], b"\r"
            data = _normalize_line_ends(data)
        cut = data.rfind(b"\n\n")
        cut = 0 if cut < 0 else cut + 2
        self._tail = data[cut:] + held
        if len(self._tail) > MAX_EVENT:
            raise TooLarge(f"an event of more than {MAX_EVENT} bytes")
        return data[:cut]

    def _parse(self, data: bytes) -> int:
        """Return how many events have content, parsing those without a known pattern.

        Learn the patterns of the parsed events, and note errors and the end of the stream.
        """
        content, parsed, patterns = 0, [], self._patterns
        for event in data.removesuffix(b"\n\n").split(b"\n\n"):
            if b"\n" not in event and patterns.find_all(event + b"\n\n"):
                content += 1
                continue
            raw = _event_data(event)
            if raw == DONE:
                self.done += 1
                continue
            chunk = _parse_object(raw) if raw else {}
            if len(event) <= MAX_PARSED:
                parsed.append((event, chunk))
            keys = [key for delta in _deltas(chunk) for key in _content_keys(delta)]
            content += bool(keys)
            for key in keys:
                patterns.learn(key, raw)
            if chunk.get("error") is not None or chunk.get("object") == "error" or b"event: error" in event:
                self.error = (
                    chunk if chunk and len(event) <= MAX_PARSED else event[:MAX_PARSED].decode(errors="replace")
                )
        self._parsed = parsed[-LAST:]
        return content

    @property
    def usage(self) -> dict[str, Any] | None:
        """The last usage that was sent and is not empty."""
        usages = (chunk.get("usage") for chunk in self._last_chunks(b'"usage"'))
        return next((usage for usage in usages if isinstance(usage, dict) and usage), None)

    @property
    def finish_reason(self) -> str | None:
        """The last finish reason that was sent."""
        for chunk in self._last_chunks(b'"finish_reason"'):
            choices = chunk.get("choices")
            for choice in reversed(choices) if isinstance(choices, list) else ():
                reason = read_name(choice.get("finish_reason")) if isinstance(choice, dict) else None
                if reason is not None:
                    return reason
        return None

    def _last_chunks(self, name: bytes) -> Iterator[dict[str, Any]]:
        """Yield the chunks of the last reads that contain a name, the last one first."""
        parsed = dict(self._parsed)
        for data in reversed(self._last):
            for event in reversed(data.split(b"\n\n")[-LAST:]):
                if name in event:
                    chunk = parsed.get(event)
                    yield _parse_object(_event_data(event)) if chunk is None else chunk

    @property
    def held_bytes(self) -> int:
        """The memory of what is kept of the stream."""
        return len(self._tail) + sum(map(len, self._last)) + STAMP_BYTES * len(self.stamps_ns)

    @property
    def content_events(self) -> int:
        """The number of events with content."""
        return sum(self.counts)


def _normalize_line_ends(data: bytes) -> bytes:
    """Replace every line end by LF; a raw CR is always a line end, as JSON escapes it."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _event_data(event: bytes) -> bytes:
    """Return the data of an event, its lines joined."""
    if b"\n" not in event:
        return event[5:].removeprefix(b" ") if event.startswith(b"data:") else b""
    lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
    return lines[0] if len(lines) == 1 else b"\n".join(lines)


def _parse_object(raw: bytes) -> dict[str, Any]:
    try:
        text = raw.strip(WHITESPACE).decode("utf-8", "surrogatepass")
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


def _content_keys(delta: dict[str, Any]) -> list[str]:
    """Return the keys under which a delta has text; the text of a tool call is its arguments."""
    keys = [key for key in CONTENT_KEYS if isinstance(delta.get(key), str) and delta[key]]
    return [*keys, "arguments"] if delta.get("tool_calls") else keys
