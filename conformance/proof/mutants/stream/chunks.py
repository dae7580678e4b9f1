"""Mutants of the fields and choices of chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.responses import dump
from conformance.proof.editing.streams import FIRST, LAST, edit_choices, edit_chunks, edit_frames
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange

SECOND = slice(1, 2)


@mutant("stream.chunks-fit-schema")
def choices_are_an_object(exchange: Exchange) -> Exchange:
    """`choices` is an object in every chunk."""
    return edit_chunks(exchange, lambda chunk: chunk.update(choices={}))


@mutant("stream.object-named")
def object_is_the_plain_one(exchange: Exchange) -> Exchange:
    """`object` of the chunks is that of plain answers."""
    return edit_chunks(exchange, lambda chunk: chunk.update(object="chat.completion"))


@mutant("stream.id-constant")
def id_changes(exchange: Exchange) -> Exchange:
    """The second chunk has another id."""
    return edit_chunks(exchange, lambda chunk: chunk.update(id=f"{chunk['id']}-2"), SECOND)


@mutant("stream.created-constant")
def created_changes(exchange: Exchange) -> Exchange:
    """`created` of the last chunk is a second later."""
    return edit_chunks(exchange, lambda chunk: chunk.update(created=chunk["created"] + 1), LAST)


@mutant("stream.created-now")
def created_of_chunks_is_in_milliseconds(exchange: Exchange) -> Exchange:
    """`created` is in milliseconds in every chunk."""
    return edit_chunks(exchange, lambda chunk: chunk.update(created=chunk["created"] * 1000))


@mutant("stream.model-constant")
def model_changes(exchange: Exchange) -> Exchange:
    """The last chunk names another model."""
    return edit_chunks(exchange, lambda chunk: chunk.update(model="another-model"), LAST)


@mutant("stream.index-integer")
def index_is_absent(exchange: Exchange) -> Exchange:
    """The choice in the second chunk has no index."""
    return edit_choices(exchange, lambda choice: choice.pop("index"), SECOND)


@mutant("stream.one-choice-by-default")
def second_choice_comes_unasked(exchange: Exchange) -> Exchange:
    """A second choice is streamed that was not requested."""
    return edit_chunks(exchange, lambda chunk: chunk["choices"].extend(_again(chunk["choices"])))


def _again(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**choice, "index": 1} for choice in choices]


@mutant("stream.one-choice-per-chunk")
def chunk_has_no_choice(exchange: Exchange) -> Exchange:
    """The first chunk has no choice."""
    return edit_frames(exchange, lambda found: [found[0].edited(_emptied), *found])


def _emptied(chunk: dict[str, Any]) -> None:
    chunk["choices"] = []
    chunk.pop("usage", None)


@mutant("stream.model-echoed")
def another_model_is_named(exchange: Exchange) -> Exchange:
    """Every chunk names another model than the request."""
    return edit_chunks(exchange, lambda chunk: chunk.update(model="another-model"))


@mutant("stream.as-many-choices-as-asked")
def one_choice_is_streamed(exchange: Exchange) -> Exchange:
    """Every choice is streamed with the index 0."""
    return edit_chunks(exchange, lambda chunk: [choice.update(index=0) for choice in chunk["choices"]])


@mutant("stream.choices-never-empty")
def first_chunk_has_no_choice(exchange: Exchange) -> Exchange:
    """The first chunk has no choices."""
    return chunk_has_no_choice.change(exchange)


@mutant("stream.finish-reason-always-there")
def reason_is_absent_before_the_end(exchange: Exchange) -> Exchange:
    """The first chunk has no finish_reason."""
    return edit_choices(exchange, lambda choice: choice.pop("finish_reason"), FIRST)


@mutant("stream.deltas-not-messages")
def message_replaces_the_delta(exchange: Exchange) -> Exchange:
    """A choice has a message in place of its delta."""

    def move(choice: dict[str, Any]) -> None:
        choice["message"], choice["delta"] = {"content": "Hello", **choice["delta"]}, {}

    return edit_choices(exchange, move, FIRST)


@mutant("stream.json-unambiguous")
def field_is_repeated(exchange: Exchange) -> Exchange:
    """The first chunk has the field `object` twice."""

    def write(chunk: dict[str, Any]) -> bytes:
        return dump(chunk)[:-1] + b',"object":"chat.completion"}'

    return edit_frames(exchange, lambda found: [found[0].with_data(write(found[0].chunk or {})), *found[1:]])


@mutant("stream.members-known")
def chunk_has_a_further_field(exchange: Exchange) -> Exchange:
    """Chunks have a field that no document defines."""
    return edit_chunks(exchange, lambda chunk: chunk.update(x_note="extra"))


@mutant("stream.ids-differ", steps="streamed*")
def streams_share_an_id(exchange: Exchange) -> Exchange:
    """Every stream has the same id."""
    return edit_chunks(exchange, lambda chunk: chunk.update(id="chatcmpl-1"))
