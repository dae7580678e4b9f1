"""Mutants of structured output: the requested form has no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_choice
from conformance.proof.editing.responses import refuse
from conformance.proof.editing.streams import LAST, edit_choices, edit_deltas
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def _with_text(exchange: Exchange, text: str) -> Exchange:
    """Replace the text by one that ended by itself, streamed or plain."""
    if exchange.is_stream:
        parts = iter([text])
        edited = edit_deltas(exchange, lambda delta: delta.update(content=next(parts, "")))
        return edit_choices(edited, lambda choice: choice.update(finish_reason="stop"), LAST)

    def change(choice: dict[str, Any]) -> None:
        choice["message"]["content"] = text
        choice["finish_reason"] = "stop"

    return edit_choice(exchange, change)


@mutant("structured.json-object")
def json_stands_in_a_fence(exchange: Exchange) -> Exchange:
    """The JSON is in a Markdown code block."""
    return _with_text(exchange, '```json\n{"name": "Anna"}\n```')


@mutant("structured.fits-schema")
def schema_is_not_imposed(exchange: Exchange) -> Exchange:
    """The text is JSON that is not valid against the schema."""
    return _with_text(exchange, '{"story": "Once upon a time"}')


@mutant("structured.fits-schema-without-strict")
def schema_is_taken_as_advice(exchange: Exchange) -> Exchange:
    """The text has a field that the schema does not have, and lacks those that it requires."""
    return _with_text(exchange, '{"answer": ["Sure", "here it is"]}')


@mutant("structured.one-of-the-choices")
def choice_is_explained(exchange: Exchange) -> Exchange:
    """The text explains the choice."""
    return _with_text(exchange, "I choose red.")


@mutant("structured.matches-expression")
def expression_is_ignored(exchange: Exchange) -> Exchange:
    """The text does not match the expression."""
    return _with_text(exchange, "Hello! How can I help you today?")


@mutant("structured.streamed-as-plain", steps="person-streamed")
def streamed_json_is_torn(exchange: Exchange) -> Exchange:
    """The streamed JSON lacks its last brace."""
    return _with_text(exchange, '{"name": "Anna", "age": 30')


@mutant("structured.begins-with-a-brace")
def object_is_introduced(exchange: Exchange) -> Exchange:
    """The JSON follows a sentence."""
    return _with_text(exchange, 'Here it is: {"name": "Anna", "age": 30}')


@mutant("structured.schemas-taken")
def usual_schemas_are_refused(exchange: Exchange) -> Exchange:
    """A schema with usual keywords is refused."""
    return refuse(exchange, 400)


@mutant("structured.objects-without-the-word")
def word_is_demanded(exchange: Exchange) -> Exchange:
    """A json_object is refused if no message contains the word JSON."""
    return refuse(exchange, 400)


@mutant("structured.follows-grammar")
def grammar_is_ignored(exchange: Exchange) -> Exchange:
    """The text has words that the grammar does not have."""
    return _with_text(exchange, "red 17, or blue")
