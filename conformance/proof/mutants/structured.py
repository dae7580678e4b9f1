"""Forms that are demanded and not imposed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_choice
from conformance.proof.editing.streams import LAST, edit_choices, edit_deltas
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def _saying(exchange: Exchange, text: str) -> Exchange:
    """A text that ended by itself, streamed or plain."""
    if exchange.is_stream:
        parts = iter([text])
        said = edit_deltas(exchange, lambda delta: delta.update(content=next(parts, "")))
        return edit_choices(said, lambda choice: choice.update(finish_reason="stop"), LAST)

    def change(choice: dict[str, Any]) -> None:
        choice["message"]["content"] = text
        choice["finish_reason"] = "stop"

    return edit_choice(exchange, change)


@mutant("structured.json-object")
def json_stands_in_a_fence(exchange: Exchange) -> Exchange:
    """The JSON stands between the marks of a code block."""
    return _saying(exchange, '```json\n{"name": "Anna"}\n```')


@mutant("structured.fits-schema")
def schema_is_not_imposed(exchange: Exchange) -> Exchange:
    """The text is JSON, but not of the schema."""
    return _saying(exchange, '{"story": "Once upon a time"}')


@mutant("structured.one-of-the-choices")
def choice_is_explained(exchange: Exchange) -> Exchange:
    """The text explains the choice instead of being it."""
    return _saying(exchange, "I choose red.")


@mutant("structured.matches-expression")
def expression_is_ignored(exchange: Exchange) -> Exchange:
    """The text has nothing of the expression."""
    return _saying(exchange, "Hello! How can I help you today?")


@mutant("structured.streamed-as-plain", steps="person-streamed")
def streamed_json_is_torn(exchange: Exchange) -> Exchange:
    """The streamed JSON lacks its last brace."""
    return _saying(exchange, '{"name": "Anna", "age": 30')
