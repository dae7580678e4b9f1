"""Edit one part of an exchange.

Most functions here return an edit: a function from an exchange to the changed exchange.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.exchange import Segment
from conformance.proof.editing.answers import edit_answer, edit_choice, edit_message, edit_text, edit_usage
from conformance.proof.editing.responses import dump, response_of, with_header, with_json, with_status
from conformance.proof.editing.streams import ALL, edit_chunks, edit_frames, frames, with_frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange


def of_answer(**fields: Any) -> Callable[[Exchange], Exchange]:
    """Set fields of a plain answer."""
    return lambda exchange: edit_answer(exchange, lambda answer: answer.update(fields))


def of_usage(**fields: Any) -> Callable[[Exchange], Exchange]:
    """Set fields of usage, streamed or plain."""
    return lambda exchange: edit_usage(exchange, lambda usage: usage.update(fields))


def of_choice(**fields: Any) -> Callable[[Exchange], Exchange]:
    """Set fields of the first choice of a plain answer."""
    return lambda exchange: edit_choice(exchange, lambda choice: choice.update(fields))


def of_message(**fields: Any) -> Callable[[Exchange], Exchange]:
    """Set fields of the message of a plain answer."""
    return lambda exchange: edit_message(exchange, lambda message: message.update(fields))


def of_chunks(which: slice = ALL, **fields: Any) -> Callable[[Exchange], Exchange]:
    """Set fields of chunks."""
    return lambda exchange: edit_chunks(exchange, lambda chunk: chunk.update(fields), which)


def full_texts(of: int | None = None) -> Callable[[Exchange], Exchange]:
    """Set `full_text` in the last chunk of each choice to its own text, or to that of choice `of`."""

    def change(exchange: Exchange) -> Exchange:
        texts = {index: choice.content for index, choice in exchange.choices.items()}

        def edit(chunk: dict[str, Any]) -> None:
            for choice in chunk["choices"]:
                if choice.get("finish_reason"):
                    chunk["full_text"] = texts[choice["index"] if of is None else of]

        return edit_chunks(exchange, edit)

    return change


def of_request(**fields: Any) -> Callable[[Exchange], Exchange]:
    """Set fields of the request."""

    def change(exchange: Exchange) -> Exchange:
        body = dump({**exchange.request_json, **fields})
        return replace(exchange, request=replace(exchange.request, body=body))

    return change


def status(code: int) -> Callable[[Exchange], Exchange]:
    """Set the status."""
    return lambda exchange: with_status(exchange, code)


def call(**fields: Any) -> Callable[[Exchange], Exchange]:
    """Add a tool call to the message that is well-formed except for these fields."""
    good = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return of_message(tool_calls=[{**good, **fields}])


def function(**fields: Any) -> Callable[[Exchange], Exchange]:
    """Add a tool call whose function is well-formed except for these fields."""
    return call(function={"name": "f", "arguments": "{}", **fields})


def both(
    first: Callable[[Exchange], Exchange], second: Callable[[Exchange], Exchange]
) -> Callable[[Exchange], Exchange]:
    """Apply one edit after the other."""
    return lambda exchange: second(first(exchange))


def lasting(ended_at_s: float, first_at_s: float, events: int = 99) -> Callable[[Exchange], Exchange]:
    """Make a stream of a number of events take some time: its first event at one time, all others at the end."""

    def change(exchange: Exchange) -> Exchange:
        short = edit_frames(
            exchange, lambda frames: [*frames[: events - 1], frames[-1]] if events < len(frames) else frames
        )
        end = short.events[1].offset
        segments = (Segment(first_at_s, short.body[:end]), Segment(ended_at_s, short.body[end:]))
        return replace(short, response=replace(response_of(short), segments=segments, ended_at_s=ended_at_s))

    return change


def spread(ended_at_s: float, first_at_s: float) -> Callable[[Exchange], Exchange]:
    """Spread the events of a stream evenly between two times."""

    def change(exchange: Exchange) -> Exchange:
        events = frames(exchange)
        step_s = (ended_at_s - first_at_s) / (len(events) - 1)
        timed = with_frames(
            exchange, (replace(frame, at_s=first_at_s + at * step_s) for at, frame in enumerate(events))
        )
        return replace(timed, response=replace(response_of(timed), ended_at_s=ended_at_s))

    return change


def error_code(code: int) -> Callable[[Exchange], Exchange]:
    """Replace the body by an error with this code."""
    return lambda exchange: with_json(exchange, {"code": code, "result": None, "message": "no"})


def other_text(exchange: Exchange) -> Exchange:
    """Change the text."""
    return edit_text(exchange, lambda text: f"{text}!")


def media_type(kind: str) -> Callable[[Exchange], Exchange]:
    """Set the content type."""
    return lambda exchange: with_header(exchange, "content-type", kind)


def rewritten(write: Callable[[dict[str, Any]], bytes]) -> Callable[[Exchange], Exchange]:
    """Replace the first chunk of a stream by what a function writes for it."""
    return lambda exchange: edit_frames(
        exchange, lambda frames: [frames[0].with_data(write(frames[0].chunk or {})), *frames[1:]]
    )


def ending(reason: str, text: str, tokens: int) -> Callable[[Exchange], Exchange]:
    """Set the end of a plain answer; `{stop}` in the text is replaced by the stop string."""

    def change(exchange: Exchange) -> Exchange:
        content = text.format(stop=exchange.request_json["stop"])
        return both(
            both(of_message(content=content), of_choice(finish_reason=reason)), of_usage(completion_tokens=tokens)
        )(exchange)

    return change


def unchanged(exchange: Exchange) -> Exchange:
    """Return the exchange unchanged."""
    return exchange
