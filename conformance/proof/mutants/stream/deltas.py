"""Mutants of the role and the text of deltas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_text
from conformance.proof.editing.streams import ALL, FIRST, LAST, Frame, edit_chunks, edit_deltas, edit_frames
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("stream.role-assistant")
def role_is_user(exchange: Exchange) -> Exchange:
    """The first delta's role is "user"."""
    return edit_deltas(exchange, lambda delta: delta.update(role="user"), FIRST)


@mutant("stream.role-in-every-delta")
def role_is_in_the_first_delta_only(exchange: Exchange) -> Exchange:
    """The last delta has no role."""
    return edit_deltas(exchange, lambda delta: delta.pop("role", None), LAST)


@mutant("stream.role-before-text", scenario="greedy")
def role_comes_last(exchange: Exchange) -> Exchange:
    """The role is sent with the last delta."""
    return edit_deltas(role_is_never_sent.change(exchange), lambda delta: delta.update(role="assistant"), LAST)


@mutant("stream.role-given")
def role_is_never_sent(exchange: Exchange) -> Exchange:
    """No delta has a role."""
    return edit_chunks(exchange, lambda chunk: [choice["delta"].pop("role", None) for choice in chunk["choices"]])


@mutant("stream.role-not-repeated", scenario="greedy")
def role_is_sent_again(exchange: Exchange) -> Exchange:
    """Every delta has the role."""
    return edit_deltas(exchange, lambda delta: delta.update(role="assistant"), ALL)


@mutant("stream.deltas-add-up", scenario="greedy")
def deltas_are_cumulative(exchange: Exchange) -> Exchange:
    """Every delta has the whole text so far."""
    said = ""

    def lengthen(delta: dict[str, Any]) -> None:
        nonlocal said
        said += delta.get("content") or ""
        delta["content"] = said

    return edit_deltas(exchange, lengthen)


@mutant("stream.text-not-repeated", scenario="greedy")
def last_delta_repeats_the_answer(exchange: Exchange) -> Exchange:
    """After the last delta another one repeats the whole answer."""
    choice = exchange.choices[0]
    last, whole = choice.delta_at[-1], choice.content_incremental

    def speak(chunk: dict[str, Any]) -> None:
        chunk["choices"] = [{"index": 0, "delta": {"role": "assistant", "content": whole}, "finish_reason": None}]
        chunk.pop("usage", None)

    def repeat(found: list[Frame]) -> list[Frame]:
        return [*found[: last + 1], found[last].edited(speak), *found[last + 1 :]]

    return edit_frames(exchange, repeat)


@mutant("stream.full-text-is-whole")
def full_text_lacks_a_character(exchange: Exchange) -> Exchange:
    """`full_text` has one more character than the answer."""
    text = f"{exchange.content() or ''}!"
    return edit_chunks(exchange, lambda chunk: chunk.update(full_text=text), LAST)


@mutant("stream.text-well-encoded")
def character_is_cut_between_chunks(exchange: Exchange) -> Exchange:
    """A delta has U+FFFD in place of a character."""
    return edit_text(exchange, lambda text: f"{text}\ufffd")


@mutant("stream.text-as-plain", steps="streamed*")
def stream_loses_its_last_character(exchange: Exchange) -> Exchange:
    """The streamed answer has one more character than the plain one."""
    return edit_text(exchange, lambda text: f"{text}!")
