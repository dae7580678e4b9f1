"""Edit the events of a stream.

Streams are edited as frames, so that events keep their times and all other bytes stay the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from conformance.errors import HarnessError
from conformance.exchange import Segment
from conformance.proof.editing.responses import dump, response_of
from openapi.stream import sse
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Edit = Callable[[dict[str, Any]], object]

    from conformance.exchange import Exchange

ALL = slice(None)
LAST = slice(-1, None)
FIRST = slice(1)


@dataclass(frozen=True, slots=True)
class Frame:
    """One event of a stream as it was sent, with its arrival time. `raw` includes its blank line."""

    at_s: float
    raw: bytes

    @property
    def chunk(self) -> dict[str, Any] | None:
        """The event's JSON object; None for `[DONE]` and other data that is not an object."""
        events = sse.decode([(self.at_s, self.raw)]).events
        value = read_json(events[0].data).value if events else None
        return value if isinstance(value, dict) else None

    def with_value(self, value: Any) -> Frame:
        """Return an event with another JSON value, at the same time."""
        return self.with_data(dump(value))

    def with_data(self, data: bytes) -> Frame:
        """Return an event with other data, at the same time."""
        return Frame(self.at_s, sse.encode(data))

    def edited(self, edit: Edit) -> Frame:
        """Return the event with its chunk edited."""
        chunk = self.chunk
        if chunk is None:
            raise HarnessError("the event has no chunk to change")
        edit(chunk)
        return self.with_value(chunk)


def frames(exchange: Exchange) -> list[Frame]:
    """Return the events of a stream as sent; comments belong to the previous event."""
    starts = [event.offset for event in exchange.events]
    if not starts:
        raise HarnessError(f"{exchange.id} has no events to change")
    ends = [*starts[1:], len(exchange.body)]
    starts[0] = 0
    return [
        Frame(event.at_s, exchange.body[start:end])
        for event, start, end in zip(exchange.events, starts, ends, strict=True)
    ]


def with_frames(exchange: Exchange, events: Iterable[Frame]) -> Exchange:
    """Replace the events of a stream; adjacent events that arrived together stay in one segment."""
    segments = tuple(
        Segment(at_s, b"".join(frame.raw for frame in group))
        for at_s, group in groupby(events, key=lambda frame: frame.at_s)
    )
    return replace(exchange, response=replace(response_of(exchange), segments=segments))


def edit_frames(exchange: Exchange, edit: Callable[[list[Frame]], list[Frame]]) -> Exchange:
    """Edit the list of events of a stream."""
    return with_frames(exchange, edit(frames(exchange)))


def edit_chunks(exchange: Exchange, edit: Edit, which: slice = ALL) -> Exchange:
    """Edit all chunks of a stream, or those of a slice; `[DONE]` does not count."""

    def edit_all(events: list[Frame]) -> list[Frame]:
        at = [place for place, frame in enumerate(events) if frame.chunk is not None][which]
        return [frame.edited(edit) if place in at else frame for place, frame in enumerate(events)]

    return edit_frames(exchange, edit_all)


def edit_choices(exchange: Exchange, edit: Edit, which: slice = ALL) -> Exchange:
    """Edit the first choice in all chunks of a stream that have choices, or in a slice of these chunks."""

    def edit_all(events: list[Frame]) -> list[Frame]:
        at = [place for place, frame in enumerate(events) if (frame.chunk or {}).get("choices")][which]
        return [
            frame.edited(lambda chunk: edit(chunk["choices"][0])) if place in at else frame
            for place, frame in enumerate(events)
        ]

    return edit_frames(exchange, edit_all)


def edit_deltas(exchange: Exchange, edit: Edit, which: slice = ALL) -> Exchange:
    """Edit the delta of the first choice in all chunks that have choices, or in a slice of these chunks."""
    return edit_choices(exchange, lambda choice: edit(choice["delta"]), which)
