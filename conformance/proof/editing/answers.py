"""Edit the JSON of answers, plain or streamed.

An edit is a function that changes a dict in place; its return value is ignored.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from conformance.errors import HarnessError
from conformance.proof.editing.responses import dump, with_body
from conformance.proof.editing.streams import FIRST, Frame, edit_chunks, edit_deltas, edit_frames

if TYPE_CHECKING:
    from collections.abc import Callable

    Edit = Callable[[dict[str, Any]], object]

    from conformance.exchange import Exchange

TALE = "Three old sailors once found a door at the bottom of the sea."
STORY = "Once upon a time there was a small model that always said the same."


def edit_answer(exchange: Exchange, edit: Edit) -> Exchange:
    """Edit the JSON object of a plain body."""
    value = exchange.json
    if not isinstance(value, dict):
        raise HarnessError(f"{exchange.id} holds no JSON object to change")
    value = json.loads(json.dumps(value))
    edit(value)
    return with_body(exchange, dump(value))


def edit_either(exchange: Exchange, edit: Edit) -> Exchange:
    """Edit a plain body, or every chunk of a stream."""
    return edit_chunks(exchange, edit) if exchange.is_stream else edit_answer(exchange, edit)


def edit_choice(exchange: Exchange, edit: Edit) -> Exchange:
    """Edit the first choice of a plain answer."""
    return edit_answer(exchange, lambda answer: edit(answer["choices"][0]))


def edit_every_choice(exchange: Exchange, edit: Edit) -> Exchange:
    """Edit each choice of a plain answer; a response without choices stays as it is."""

    def edit_all(answer: dict[str, Any]) -> None:
        for choice in answer.get("choices", ()):
            edit(choice)

    return edit_answer(exchange, edit_all)


def edit_message(exchange: Exchange, edit: Edit) -> Exchange:
    """Edit the message of the first choice of a plain answer."""
    return edit_choice(exchange, lambda choice: edit(choice["message"]))


def edit_usage(exchange: Exchange, edit: Edit) -> Exchange:
    """Edit usage, streamed or plain."""

    def edit_holder(holder: dict[str, Any]) -> None:
        if isinstance(holder.get("usage"), dict):
            edit(holder["usage"])

    return edit_either(exchange, edit_holder)


def add_tokens(exchange: Exchange, prompt: int = 0, completion: int = 0) -> Exchange:
    """Add to the token counts, and keep their sum correct."""

    def edit(usage: dict[str, Any]) -> None:
        usage["prompt_tokens"] += prompt
        usage["completion_tokens"] += completion
        usage["total_tokens"] += prompt + completion

    return edit_usage(exchange, edit)


def with_text(exchange: Exchange, text: str) -> Exchange:
    """Replace the text of the first choice of a plain answer."""
    return edit_message(exchange, lambda message: message.update(content=text))


def say(exchange: Exchange, text: str) -> Exchange:
    """Replace the text of the first choice of a plain answer, or all text of a stream; its first delta says it."""
    if not exchange.is_stream:
        return with_text(exchange, text)
    silent = edit_deltas(exchange, lambda delta: delta.update(content=""))
    return edit_deltas(silent, lambda delta: delta.update(content=text), FIRST)


def edit_text(exchange: Exchange, edit: Callable[[str], str]) -> Exchange:
    """Edit the text of the first choice: of a plain message, or of the last delta with text.

    In a stream without text, the result of editing an empty string is added to the first delta.
    """
    if not exchange.is_stream:
        return edit_message(exchange, lambda message: message.update(content=edit(message["content"] or "")))
    events = exchange.choices[0].delta_at[-1:]
    if not events:
        text = edit("")
        return edit_deltas(exchange, lambda delta: delta.update(content=text), FIRST) if text else exchange

    def edit_frame(at: int, frame: Frame) -> Frame:
        return frame.edited(lambda chunk: _edit_content(chunk, edit)) if at in events else frame

    return edit_frames(exchange, lambda frames: [edit_frame(at, frame) for at, frame in enumerate(frames)])


def _edit_content(chunk: dict[str, Any], edit: Callable[[str], str]) -> None:
    delta = chunk["choices"][0]["delta"]
    delta["content"] = edit(delta["content"])
