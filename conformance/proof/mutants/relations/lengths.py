"""Mutants of answers to requests with other limits, and to long prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_choice, edit_text
from conformance.proof.editing.responses import with_json, with_status
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("relations.shorter-is-a-beginning", steps="at-6")
def cut_answer_lacks_a_character(exchange: Exchange) -> Exchange:
    """An answer that is cut off lacks a character in its middle."""
    return edit_text(exchange, lambda text: text[:1] + text[2:])


@mutant("relations.streamed-cut-as-plain", steps="at-6-streamed")
def stream_shows_half_a_character(exchange: Exchange) -> Exchange:
    """A stream that is cut off ends with part of a character."""
    return edit_text(exchange, lambda text: f"{text}\ufffd")


@mutant("relations.limit-grows", steps="roomy")
def answer_stretches_to_its_limit(exchange: Exchange) -> Exchange:
    """An answer continues up to its limit."""
    return edit_text(exchange, lambda text: f"{text} And so on.")


@mutant("relations.long-streamed", steps="long-[pa]*")
def long_stream_loses_a_piece(exchange: Exchange) -> Exchange:
    """The streamed long answer lacks a piece."""
    return edit_text(exchange, lambda text: f"{text[:60]} and lost {text[60:]}")


@mutant("relations.long-prompt-repeats", steps="thousand-again")
def cached_prompt_is_another_one(exchange: Exchange) -> Exchange:
    """A cached prompt is answered like another prompt."""
    return edit_text(exchange, lambda text: f"No. {text}")


@mutant("relations.long-prompts-answered", steps="thousand")
def long_prompt_leaves_nothing(exchange: Exchange) -> Exchange:
    """The answer to a long prompt is empty, although its tokens are counted."""
    return edit_text(exchange, lambda _: "")


@mutant("relations.every-text-answered", steps="one-character")
def answer_is_blank(exchange: Exchange) -> Exchange:
    """The answer has no text, although it is cut off."""
    return edit_text(edit_choice(exchange, lambda choice: choice.update(finish_reason="length")), lambda _: "")


@mutant("relations.longest-prompt-answered", steps="refused-*")
def longest_prompts_are_answered_with_nothing(exchange: Exchange) -> Exchange:
    """The answers to the longest prompt have no text."""
    silent = {"index": 0, "message": {"role": "assistant", "content": ""}, "finish_reason": "length"}
    return with_status(with_json(exchange, {"choices": [silent], "usage": {"completion_tokens": 2}}), 200)
