"""Small edits of an exchange, each named by what it changes."""

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


def of_answer(**members: Any) -> Callable[[Exchange], Exchange]:
    """Members of a plain answer."""
    return lambda exchange: edit_answer(exchange, lambda answer: answer.update(members))


def of_usage(**members: Any) -> Callable[[Exchange], Exchange]:
    """Members of usage, streamed or plain."""
    return lambda exchange: edit_usage(exchange, lambda usage: usage.update(members))


def of_choice(**members: Any) -> Callable[[Exchange], Exchange]:
    """Members of the first choice of a plain answer."""
    return lambda exchange: edit_choice(exchange, lambda choice: choice.update(members))


def of_message(**members: Any) -> Callable[[Exchange], Exchange]:
    """Members of the message of a plain answer."""
    return lambda exchange: edit_message(exchange, lambda message: message.update(members))


def of_chunks(which: slice = ALL, **members: Any) -> Callable[[Exchange], Exchange]:
    """Members of chunks."""
    return lambda exchange: edit_chunks(exchange, lambda chunk: chunk.update(members), which)


def of_request(**members: Any) -> Callable[[Exchange], Exchange]:
    """Members of the request."""

    def change(exchange: Exchange) -> Exchange:
        body = dump({**exchange.request_json, **members})
        return replace(exchange, request=replace(exchange.request, body=body))

    return change


def status(code: int) -> Callable[[Exchange], Exchange]:
    """Another status."""
    return lambda exchange: with_status(exchange, code)


def call(**members: Any) -> Callable[[Exchange], Exchange]:
    """One tool call in the message, otherwise well formed."""
    good = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return of_message(tool_calls=[{**good, **members}])


def function(**members: Any) -> Callable[[Exchange], Exchange]:
    """One tool call whose function is otherwise well formed."""
    return call(function={"name": "f", "arguments": "{}", **members})


def both(
    first: Callable[[Exchange], Exchange], second: Callable[[Exchange], Exchange]
) -> Callable[[Exchange], Exchange]:
    """One edit after another."""
    return lambda exchange: second(first(exchange))


def lasting(ended_at_s: float, first_at_s: float, events: int = 99) -> Callable[[Exchange], Exchange]:
    """A stream of so many events that took so long, its first event at a time and all others at the end."""

    def change(exchange: Exchange) -> Exchange:
        short = edit_frames(
            exchange, lambda frames: [*frames[: events - 1], frames[-1]] if events < len(frames) else frames
        )
        end = short.events[1].offset
        segments = (Segment(first_at_s, short.body[:end]), Segment(ended_at_s, short.body[end:]))
        return replace(short, response=replace(response_of(short), segments=segments, ended_at_s=ended_at_s))

    return change


def spread(ended_at_s: float, first_at_s: float) -> Callable[[Exchange], Exchange]:
    """A stream whose events come at equal distances between two times."""

    def change(exchange: Exchange) -> Exchange:
        found = frames(exchange)
        step_s = (ended_at_s - first_at_s) / (len(found) - 1)
        timed = with_frames(exchange, (replace(each, at_s=first_at_s + at * step_s) for at, each in enumerate(found)))
        return replace(timed, response=replace(response_of(timed), ended_at_s=ended_at_s))

    return change


def coded(code: int) -> Callable[[Exchange], Exchange]:
    """A body with a business code."""
    return lambda exchange: with_json(exchange, {"code": code, "result": None, "message": "no"})


def shouted(exchange: Exchange) -> Exchange:
    """Another text."""
    return edit_text(exchange, lambda text: f"{text}!")


def typed(kind: str) -> Callable[[Exchange], Exchange]:
    """Another content type."""
    return lambda exchange: with_header(exchange, "content-type", kind)


def rewritten(write: Callable[[dict[str, Any]], bytes]) -> Callable[[Exchange], Exchange]:
    """The first chunk of a stream written otherwise."""
    return lambda exchange: edit_frames(
        exchange, lambda frames: [frames[0].saying(write(frames[0].chunk or {})), *frames[1:]]
    )


def ending(reason: str, text: str, tokens: int) -> Callable[[Exchange], Exchange]:
    """Another end of a plain answer; `{stop}` in the text stands for the stop text."""

    def change(exchange: Exchange) -> Exchange:
        said = text.format(stop=exchange.request_json["stop"])
        return both(
            both(of_message(content=said), of_choice(finish_reason=reason)), of_usage(completion_tokens=tokens)
        )(exchange)

    return change


def unchanged(exchange: Exchange) -> Exchange:
    """The good exchange."""
    return exchange
