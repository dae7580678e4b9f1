"""The verbs of mutants: each takes an exchange and returns another one, all else left as it was.

Edits of JSON are functions that change a dict in place; what they return is ignored. Streams are edited as frames, so
that events keep their times and every byte that is not touched stays.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from conformance.errors import HarnessError
from conformance.exchange import Failure, Segment
from openapi.stream import sse
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from conformance.exchange import Exchange, Response

    Edit = Callable[[dict[str, Any]], object]

ALL = slice(None)
LAST = slice(-1, None)
FIRST = slice(1)


def response_of(exchange: Exchange) -> Response:
    """The response. Raises HarnessError without one: there is nothing to break."""
    if exchange.response is None:
        raise HarnessError(f"{exchange.id} has no response to change")
    return exchange.response


def with_status(exchange: Exchange, status: int) -> Exchange:
    """Another status code."""
    return replace(exchange, response=replace(response_of(exchange), status=status))


def with_header(exchange: Exchange, name: str, value: str | None) -> Exchange:
    """A header of that value in place of all of that name; None takes them away."""
    response = response_of(exchange)
    kept = tuple(pair for pair in response.headers if pair[0].lower() != name)
    added = () if value is None else ((name, value),)
    return replace(exchange, response=replace(response, headers=(*kept, *added)))


def with_body(exchange: Exchange, body: bytes) -> Exchange:
    """Another body, arriving at once at the end."""
    response = response_of(exchange)
    return replace(exchange, response=replace(response, segments=(Segment(response.ended_at_s, body),)))


def with_json(exchange: Exchange, value: Any) -> Exchange:
    """Another body, as JSON."""
    return with_header(with_body(exchange, dump(value)), "content-type", "application/json")


def refuse(exchange: Exchange, status: int = 400) -> Exchange:
    """The request refused, in no dialect's words."""
    return with_status(with_json(exchange, {"error": "the request is refused"}), status)


def accept(exchange: Exchange) -> Exchange:
    """The request answered."""
    message = {"role": "assistant", "content": "Hello!"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return with_status(with_json(exchange, answer), 200)


def cut(exchange: Exchange) -> Exchange:
    """The connection broken before the body was complete."""
    response = replace(response_of(exchange), complete=False)
    return replace(exchange, response=response, failure=Failure("reset", "the server broke the connection"))


def edit_answer(exchange: Exchange, edit: Edit) -> Exchange:
    """A plain body, a JSON object, changed."""
    value = exchange.json
    if not isinstance(value, dict):
        raise HarnessError(f"{exchange.id} holds no JSON object to change")
    value = json.loads(json.dumps(value))
    edit(value)
    return with_body(exchange, dump(value))


def edit_either(exchange: Exchange, edit: Edit) -> Exchange:
    """A plain body changed, or every chunk of a stream."""
    return edit_chunks(exchange, edit) if exchange.is_stream else edit_answer(exchange, edit)


def edit_choice(exchange: Exchange, edit: Edit) -> Exchange:
    """The first choice of a plain answer changed."""
    return edit_answer(exchange, lambda answer: edit(answer["choices"][0]))


def edit_message(exchange: Exchange, edit: Edit) -> Exchange:
    """The message of the first choice of a plain answer changed."""
    return edit_choice(exchange, lambda choice: edit(choice["message"]))


def edit_usage(exchange: Exchange, edit: Edit) -> Exchange:
    """Usage changed wherever it stands, streamed or plain."""

    def edit_holder(holder: dict[str, Any]) -> None:
        if isinstance(holder.get("usage"), dict):
            edit(holder["usage"])

    return edit_either(exchange, edit_holder)


def add_tokens(exchange: Exchange, prompt: int = 0, completion: int = 0) -> Exchange:
    """Token counts moved by so many; their sum stays right."""

    def edit(usage: dict[str, Any]) -> None:
        usage["prompt_tokens"] += prompt
        usage["completion_tokens"] += completion
        usage["total_tokens"] += prompt + completion

    return edit_usage(exchange, edit)


def with_text(exchange: Exchange, text: str) -> Exchange:
    """Another text of the first choice, of a plain answer."""
    return edit_message(exchange, lambda message: message.update(content=text))


def edit_text(exchange: Exchange, edit: Callable[[str], str]) -> Exchange:
    """The text of the first choice changed: of a plain message, or of the last delta that holds some.

    A stream without text gets what the edit makes of an empty one with its first delta.
    """
    if not exchange.is_stream:
        return edit_message(exchange, lambda message: message.update(content=edit(message["content"] or "")))
    events = exchange.choices[0].delta_at[-1:]
    if not events:
        said = edit("")
        return edit_deltas(exchange, lambda delta: delta.update(content=said), FIRST) if said else exchange

    def edit_frame(at: int, frame: Frame) -> Frame:
        return frame.edited(lambda chunk: _edit_content(chunk, edit)) if at in events else frame

    return edit_frames(exchange, lambda frames: [edit_frame(at, frame) for at, frame in enumerate(frames)])


def _edit_content(chunk: dict[str, Any], edit: Callable[[str], str]) -> None:
    delta = chunk["choices"][0]["delta"]
    delta["content"] = edit(delta["content"])


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


def dump(value: Any) -> bytes:
    """JSON as servers write it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
