"""Changes of the finish reason and of the tool calls of an answer, streamed or plain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_choice, edit_message
from conformance.proof.editing.streams import FIRST, LAST, edit_choices, edit_deltas

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def with_reason(exchange: Exchange, reason: str) -> Exchange:
    """Replace the finish reason, streamed or plain."""
    if exchange.is_stream:
        return edit_choices(exchange, lambda choice: choice.update(finish_reason=reason), LAST)
    return edit_choice(exchange, lambda choice: choice.update(finish_reason=reason))


def with_calls(exchange: Exchange, calls: list[dict[str, Any]] | None) -> Exchange:
    """Replace the tool calls of the first choice, streamed or plain. In a stream they are in its first delta."""
    if not exchange.is_stream:
        return edit_message(exchange, lambda message: message.update(tool_calls=calls))
    silent = edit_deltas(exchange, lambda delta: delta.pop("tool_calls", None))
    return edit_deltas(silent, lambda delta: delta.update(tool_calls=calls), FIRST) if calls else silent
