"""TODO."""

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
    """One event of a stream as it was sent, and when it arrived. `raw` includes its blank line."""

    at_s: float
    raw: bytes

    @property
    def chunk(self) -> dict[str, Any] | None:
        """The event's JSON object; None for `[DONE]` and whatever else is no object."""
        events = sse.decode([(self.at_s, self.raw)]).events
        value = read_json(events[0].data).value if events else None
        return value if isinstance(value, dict) else None

    def holding(self, value: Any) -> Frame:
        """An event at the same time with another JSON value."""
        return self.saying(dump(value))

    def saying(self, data: bytes) -> Frame:
        """An event at the same time with other data."""
        return Frame(self.at_s, sse.encode(data))

    def edited(self, edit: Edit) -> Frame:
        """The event with its chunk changed."""
        chunk = self.chunk
        if chunk is None:
            raise HarnessError("the event holds no chunk to change")
        edit(chunk)
        return self.holding(chunk)


def frames(exchange: Exchange) -> list[Frame]:
    """The events of a stream as sent; comments go with the event before them."""
    starts = [event.offset for event in exchange.events]
    if not starts:
        raise HarnessError(f"{exchange.id} holds no events to change")
    ends = [*starts[1:], len(exchange.body)]
    starts[0] = 0
    return [
        Frame(event.at_s, exchange.body[start:end])
        for event, start, end in zip(exchange.events, starts, ends, strict=True)
    ]


def with_frames(exchange: Exchange, found: Iterable[Frame]) -> Exchange:
    """A stream made of these events; neighbours that arrived together stay in one segment."""
    segments = tuple(
        Segment(at_s, b"".join(frame.raw for frame in group))
        for at_s, group in groupby(found, key=lambda frame: frame.at_s)
    )
    return replace(exchange, response=replace(response_of(exchange), segments=segments))


def edit_frames(exchange: Exchange, edit: Callable[[list[Frame]], list[Frame]]) -> Exchange:
    """The events of a stream changed."""
    return with_frames(exchange, edit(frames(exchange)))


def edit_chunks(exchange: Exchange, edit: Edit, which: slice = ALL) -> Exchange:
    """Chunks of a stream changed: all, or those of a slice; `[DONE]` is none."""

    def edit_all(found: list[Frame]) -> list[Frame]:
        at = [place for place, frame in enumerate(found) if frame.chunk is not None][which]
        return [frame.edited(edit) if place in at else frame for place, frame in enumerate(found)]

    return edit_frames(exchange, edit_all)


def edit_choices(exchange: Exchange, edit: Edit, which: slice = ALL) -> Exchange:
    """The first choice changed in those chunks of a stream that have one: in all, or in a slice of them."""

    def edit_all(found: list[Frame]) -> list[Frame]:
        at = [place for place, frame in enumerate(found) if (frame.chunk or {}).get("choices")][which]
        return [
            frame.edited(lambda chunk: edit(chunk["choices"][0])) if place in at else frame
            for place, frame in enumerate(found)
        ]

    return edit_frames(exchange, edit_all)


def edit_deltas(exchange: Exchange, edit: Edit, which: slice = ALL) -> Exchange:
    """The delta of the first choice changed in the chunks that have one: in all, or in a slice of them."""
    return edit_choices(exchange, lambda choice: edit(choice["delta"]), which)
