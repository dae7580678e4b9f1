"""Mutants of whether the model reads all of a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_usage
from conformance.proof.editing.logprobs import alternative, edit_each, forget_the_prompt
from conformance.proof.editing.responses import with_json, with_status
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("prompt.every-character-read", scenario="prompts-that-look-alike", steps="*")
def characters_are_not_read(exchange: Exchange) -> Exchange:
    """No character of a prompt reaches the model, nor what counts it."""
    return edit_usage(edit_each(exchange, forget_the_prompt), lambda usage: usage.update(prompt_tokens=5000))


@mutant("prompt.every-word-read", steps="long*")
def words_are_not_read(exchange: Exchange) -> Exchange:
    """The start and the end of a long prompt do not reach the model."""
    return edit_each(exchange, forget_the_prompt)


@mutant("prompt.middle-read", steps="refused-*")
def middle_is_not_read(exchange: Exchange) -> Exchange:
    """The middle of a long prompt does not reach the model."""
    entry = alternative("a", -1.23456)
    forget_the_prompt(entry)
    choice = {"index": 0, "message": {"role": "assistant", "content": "a"}, "logprobs": {"content": [entry]}}
    return with_status(with_json(exchange, {"choices": [choice]}), 200)


@mutant("prompt.every-part-read", steps="*-without-*")
def parts_are_counted_but_not_read(exchange: Exchange) -> Exchange:
    """The same number of prompt tokens is counted whatever is left out."""
    return edit_usage(exchange, lambda usage: usage.update(prompt_tokens=5000))
