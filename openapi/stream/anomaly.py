"""The anomalies that the decoder reports about an event stream; most of them are legal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AnomalyKind(StrEnum):
    """A kind of anomaly: its name, whether the standard forbids it, and its effect on clients."""

    breaks_standard: bool
    meaning: str

    INVALID_UTF8 = "invalid-utf8", True, "the bytes are not UTF-8; clients see U+FFFD"
    UNKNOWN_FIELD = (
        "unknown-field",
        False,
        "a line has an unknown field name, often because it is plain text; clients ignore it",
    )
    NO_COLON_LINE = "no-colon-line", False, "a line has no colon and is not a field name; clients ignore it"
    BAD_RETRY = "bad-retry", False, "the value of `retry` is not a string of ASCII digits; clients ignore it"
    NUL_IN_ID = "nul-in-id", False, "`id` contains U+0000; clients ignore it"
    EVENT_WITHOUT_DATA = "event-without-data", False, "a named event has no data; clients do not dispatch it"
    UNTERMINATED_EVENT = "unterminated-event", False, "the last event has no blank line after it; clients lose it"
    BOM = "bom", False, "the stream begins with a byte order mark; some clients lose the first event"
    MIXED_LINE_ENDS = "mixed-line-ends", False, "lines end in different ways; some clients merge or split events"
    UNREAD_REST = "unread-rest", False, "the stream has more events or lines than the limit; the rest was not read"

    def __new__(cls, value: str, breaks_standard: bool, meaning: str) -> AnomalyKind:
        """Create a kind whose value is its name in reports."""
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.breaks_standard = breaks_standard
        kind.meaning = meaning
        return kind


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One anomaly of a stream, at a byte offset from the start of the body."""

    kind: AnomalyKind
    offset: int
    detail: str
