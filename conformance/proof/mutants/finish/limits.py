"""Mutants of finish reasons of answers that a limit cuts off."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.errors import HarnessError
from conformance.proof.editing.answers import add_tokens, edit_answer, edit_choice
from conformance.proof.editing.streams import LAST, edit_choices, edit_frames
from conformance.proof.mutants.finish.changes import with_reason
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("finish.unlimited-goes-on", steps="unlimited")
def another_limit_replaces_a_missing_one(exchange: Exchange) -> Exchange:
    """Without max_tokens an answer ends after a few tokens."""
    if exchange.response is None:
        raise HarnessError(f"{exchange.id} has no response to change")
    complete = replace(exchange, failure=None, response=replace(exchange.response, complete=True))
    short = edit_frames(complete, lambda events: events[:6])
    return edit_choices(short, lambda choice: choice.update(finish_reason="length"), LAST)


@mutant("finish.null-limits-nothing")
def null_is_a_limit(exchange: Exchange) -> Exchange:
    """A max_tokens of null counts as 1."""

    def change(answer: dict[str, Any]) -> None:
        answer["choices"][0]["finish_reason"] = "length"
        answer["usage"].update(completion_tokens=1, total_tokens=answer["usage"]["prompt_tokens"] + 1)

    return edit_answer(exchange, change)


@mutant("finish.length-when-cut")
def cut_answer_ends_with_stop(exchange: Exchange) -> Exchange:
    """An answer that max_tokens cuts off ends with "stop"."""
    return with_reason(exchange, "stop")


@mutant("finish.length-only-at-limit")
def length_comes_before_the_limit(exchange: Exchange) -> Exchange:
    """An answer ends with "length" one token before max_tokens."""
    return add_tokens(exchange, completion=-1)


@mutant("finish.length-when-more-follows", steps="at-2")
def answer_of_two_tokens_ends_with_stop(exchange: Exchange) -> Exchange:
    """An answer that max_tokens 2 cuts off ends with "stop"."""
    return with_reason(exchange, "stop")


@mutant("finish.length-when-stream-cut", steps="at-2-streamed")
def stream_of_two_tokens_ends_with_stop(exchange: Exchange) -> Exchange:
    """A stream that max_tokens 2 cuts off ends with "stop"."""
    return with_reason(exchange, "stop")


@mutant("finish.length-when-choices-cut", steps="cut-choices")
def cut_choices_end_with_stop(exchange: Exchange) -> Exchange:
    """Several choices that max_tokens cuts off end with "stop"."""

    def change(answer: dict[str, Any]) -> None:
        for choice in answer["choices"]:
            choice.update(finish_reason="stop")

    return edit_answer(exchange, change)


@mutant("finish.length-when-form-cut", steps="person-cut")
def cut_form_ends_with_stop(exchange: Exchange) -> Exchange:
    """JSON that max_tokens cuts off ends with "stop"."""
    return edit_choice(exchange, lambda choice: choice.update(finish_reason="stop"))
