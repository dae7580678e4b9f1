"""A scan: what a load test needs to know of an event stream, found by counting bytes rather than by parsing.

An event bears content when a delta of it holds text, reasoning or a tool call. Such events are recognised by the
bytes in front of their text, which are learned from the first event that is parsed and differ between servers only
by the key and by the space behind its colon. Bytes like these cannot stand inside a text, where quotes are escaped.
What no known bytes mark is parsed. Nothing here does I/O or knows the time but by its arguments.
"""

from __future__ import annotations

import json
from typing import Any, Final

DONE: Final = b"[DONE]"
SPOKEN: Final = ("content", "reasoning_content", "reasoning")
LARGEST_EVENT: Final = 8 * 1024 * 1024
"""Bytes of an event that is still not complete when the scan gives up."""


class TooLarge(ValueError):
    """An event that outgrows `LARGEST_EVENT`."""


class Scan:
    """Reads one stream.

    `stamps_ns` are the arrival times of reads that brought content-bearing events, `counts` how many each brought.
    `events` counts all events, `content_reads` and `coalesced_reads` the reads with any and with several of them.
    """

    __slots__ = (
        "_finish", "_marks", "_tail", "_usage", "coalesced_reads", "counts", "done", "ended_ns", "error", "events",
        "stamps_ns",
    )  # fmt: skip

    def __init__(self) -> None:
        self.stamps_ns: list[int] = []
        self.counts: list[int] = []
        self.events = 0
        self.coalesced_reads = 0
        self.done = 0
        self.error: Any = None
        self.ended_ns = 0
        self._tail = b""
        self._marks: list[tuple[bytes, bytes]] = []
        self._usage = b""
        self._finish = b""

    def feed(self, data: bytes, at_ns: int) -> None:
        """Takes what one read brought. Raises TooLarge."""
        if self._tail:
            data = self._tail + data
            self._tail = b""
        if b"\r" in data:  # raw ones end lines only: JSON escapes them
            if data.endswith(b"\r"):  # its LF may be on the way
                data, self._tail = data[:-1], b"\r"
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not data.endswith(b"\n\n"):
            cut = data.rfind(b"\n\n") + 2
            if cut < 2:
                cut = 0
            self._tail = data[cut:] + self._tail
            data = data[:cut]
            if len(self._tail) > LARGEST_EVENT:
                raise TooLarge(f"an event of more than {LARGEST_EVENT} bytes")
        if data:
            self._read(data, at_ns)

    def close(self, at_ns: int) -> None:
        """Ends the stream: a CR held back was a line end. An event without its blank line is none, as for browsers."""
        data = self._tail.replace(b"\r", b"\n")
        self._tail = b""
        if data.endswith(b"\n\n"):
            self._read(data, at_ns)

    def _read(self, data: bytes, at_ns: int) -> None:
        events = data.count(b"\n\n")
        self.events += events
        content = 0
        for mark, empty in self._marks:
            content += data.count(mark) - data.count(empty)
        if content != events:  # beginnings and ends, rarely more
            content = self._parse(data)
        if content:
            self.stamps_ns.append(at_ns)
            self.counts.append(content)
            self.ended_ns = at_ns
            self.coalesced_reads += content > 1
        if b'"usage"' in data:
            self._usage = data
        if b'"finish_reason"' in data:
            self._finish = data
        if b'"error"' in data or b"event: error" in data:
            self._note_error(data)
        if DONE in data:
            self.done += sum(_data(event) == DONE for event in data.split(b"\n\n"))

    def _parse(self, data: bytes) -> int:
        """How many events bear content, by parsing them; learns the bytes that mark them."""
        found = 0
        for event in data.split(b"\n\n"):
            raw = _data(event)
            chunk = _object(raw)
            spoken = [key for delta in _deltas(chunk) for key in _speaks(delta)]
            found += bool(spoken)
            for key in spoken:
                self._learn(key, raw)
        return found

    def _learn(self, key: str, raw: bytes) -> None:
        for colon in (b":", b": "):
            mark = b'"%b"%b"' % (key.encode(), colon)
            if mark in raw and (mark, mark + b'"') not in self._marks:
                self._marks.append((mark, mark + b'"'))

    def _note_error(self, data: bytes) -> None:
        for event in data.split(b"\n\n"):
            chunk = _object(_data(event))
            if chunk.get("error") is not None or chunk.get("object") == "error":
                self.error = chunk
            elif b"event: error" in event:
                self.error = chunk or event.decode(errors="replace")

    @property
    def usage(self) -> dict[str, Any] | None:
        """The last usage that was sent, {} excluded."""
        found = [_object(_data(event)).get("usage") for event in self._usage.split(b"\n\n")]
        return next((each for each in reversed(found) if isinstance(each, dict) and each), None)

    @property
    def finish_reason(self) -> str | None:
        """The last finish reason that was sent."""
        found = None
        for event in self._finish.split(b"\n\n"):
            choices = _object(_data(event)).get("choices")
            for choice in choices if isinstance(choices, list) else ():
                reason = choice.get("finish_reason") if isinstance(choice, dict) else None
                found = reason if isinstance(reason, str) and reason else found
        return found

    @property
    def content_events(self) -> int:
        """Events that bear content."""
        return sum(self.counts)


def _data(event: bytes) -> bytes:
    """The data of an event, its lines joined."""
    lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
    return lines[0] if len(lines) == 1 else b"\n".join(lines)


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _deltas(chunk: dict[str, Any]) -> list[dict[str, Any]]:
    choices = chunk.get("choices")
    deltas = [each.get("delta") for each in choices if isinstance(each, dict)] if isinstance(choices, list) else []
    return [each for each in deltas if isinstance(each, dict)]


def _speaks(delta: dict[str, Any]) -> list[str]:
    """The keys under which a delta holds text; a tool call's text is its arguments."""
    spoken = [key for key in SPOKEN if isinstance(delta.get(key), str) and delta[key]]
    return [*spoken, "arguments"] if delta.get("tool_calls") else spoken
