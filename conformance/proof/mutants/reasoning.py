"""Thoughts where they do not belong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_choice, edit_either, edit_text, edit_usage
from conformance.proof.editing.streams import FIRST, LAST, edit_choices, edit_deltas
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def _edit_said(exchange: Exchange, members: dict[str, Any]) -> Exchange:
    """Every message and delta with other members."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            (choice.get("delta") or choice.get("message") or {}).update(members)

    return edit_either(exchange, change)


@mutant("reasoning.no-tags")
def closing_tag_leaks(exchange: Exchange) -> Exchange:
    """The mark that ends the thoughts stands at the end of the text."""
    return edit_text(exchange, lambda text: f"{text}</think>")


@mutant("reasoning.shown-when-on")
def thoughts_are_dropped(exchange: Exchange) -> Exchange:
    """The thoughts that were wanted are dropped."""
    return _edit_said(exchange, {"reasoning_content": None, "reasoning": None})


@mutant("reasoning.none-when-off")
def thoughts_come_all_the_same(exchange: Exchange) -> Exchange:
    """Thoughts come though they were turned off."""
    return _edit_said(exchange, {"reasoning_content": "Let me see."})


@mutant("reasoning.answer-follows")
def answer_is_among_the_thoughts(exchange: Exchange) -> Exchange:
    """The whole answer stands among the thoughts, and none follows."""
    silent = _edit_said(exchange, {"content": None, "tool_calls": None})

    def end(choice: dict[str, Any]) -> None:
        choice.update(finish_reason="stop")

    return edit_choices(silent, end, LAST) if exchange.is_stream else edit_choice(silent, end)


@mutant("reasoning.before-the-answer")
def last_thought_follows_the_answer(exchange: Exchange) -> Exchange:
    """The last delta of a stream holds a thought."""
    begun = edit_deltas(exchange, lambda delta: delta.update(content="5"), FIRST)
    return edit_deltas(begun, lambda delta: delta.update(reasoning_content="Let me see."), LAST)


@mutant("reasoning.streamed-as-plain", steps="streamed*")
def streamed_thoughts_are_others(exchange: Exchange) -> Exchange:
    """The streamed thoughts are not those of the plain answer."""
    return edit_deltas(exchange, lambda delta: delta.update(reasoning_content="Let me see."), FIRST)


@mutant("reasoning.tokens-counted")
def thoughts_are_not_counted(exchange: Exchange) -> Exchange:
    """Thoughts count no tokens."""
    shown = _edit_said(exchange, {"reasoning_content": "So."})
    return edit_usage(shown, lambda usage: usage.update(completion_tokens_details={"reasoning_tokens": 0}))
