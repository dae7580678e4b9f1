"""What may be odd about an event stream, as one table: legal or not, a judge wants to know it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FlawKind(StrEnum):
    """What may be odd about a stream: its name, whether the standard forbids it, and what it does to clients."""

    breaks_standard: bool
    meaning: str

    INVALID_UTF8 = "invalid-utf8", True, "the bytes are not UTF-8; clients see U+FFFD"
    UNKNOWN_FIELD = "unknown-field", False, "a line names no known field, often bare text; clients drop it"
    NO_COLON_LINE = "no-colon-line", False, "a line has no colon and is no field name; clients drop it"
    BAD_RETRY = "bad-retry", False, "`retry` is not made of ASCII digits; clients ignore it"
    NUL_IN_ID = "nul-in-id", False, "`id` holds U+0000; clients ignore it"
    EVENT_WITHOUT_DATA = "event-without-data", False, "a named event has no data; clients dispatch nothing"
    UNTERMINATED_EVENT = "unterminated-event", False, "the last event lacks its blank line; clients lose it"
    BOM = "bom", False, "a byte order mark comes first; careless clients lose the first event"
    MIXED_LINE_ENDS = "mixed-line-ends", False, "lines end in several ways; careless clients join or cut events"
    UNREAD_REST = "unread-rest", False, "more events or lines than the reader takes; the rest was not read"

    def __new__(cls, value: str, breaks_standard: bool, meaning: str) -> FlawKind:
        """A member whose value is its name in reports."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.breaks_standard = breaks_standard
        member.meaning = meaning
        return member


@dataclass(frozen=True, slots=True)
class Flaw:
    """One oddity of a stream, at a byte offset from the start of the body."""

    kind: FlawKind
    offset: int
    detail: str
