"""Mutants of reasoning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_choice, edit_either, edit_text, edit_usage
from conformance.proof.editing.streams import FIRST, LAST, edit_choices, edit_deltas
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def _set_fields(exchange: Exchange, fields: dict[str, Any]) -> Exchange:
    """Set fields of every message and delta."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            (choice.get("delta") or choice.get("message") or {}).update(fields)

    return edit_either(exchange, change)


@mutant("reasoning.no-tags")
def closing_tag_leaks(exchange: Exchange) -> Exchange:
    """The tag that ends the reasoning is at the end of the text."""
    return edit_text(exchange, lambda text: f"{text}</think>")


@mutant("reasoning.shown-when-on")
def thoughts_are_dropped(exchange: Exchange) -> Exchange:
    """The requested reasoning is missing."""
    return _set_fields(exchange, {"reasoning_content": None, "reasoning": None})


@mutant("reasoning.none-when-off")
def thoughts_come_all_the_same(exchange: Exchange) -> Exchange:
    """An answer has reasoning although thinking is turned off."""
    return _set_fields(exchange, {"reasoning_content": "Let me see."})


@mutant("reasoning.none-without-effort")
def thoughts_come_without_effort(exchange: Exchange) -> Exchange:
    """An answer has reasoning although the request turns it off."""
    return _set_fields(exchange, {"reasoning_content": "Let me see.", "reasoning": "Let me see."})


@mutant("reasoning.answer-follows")
def answer_is_among_the_thoughts(exchange: Exchange) -> Exchange:
    """The whole answer is in the reasoning, and the content is empty."""
    silent = _set_fields(exchange, {"content": None, "tool_calls": None})

    def end(choice: dict[str, Any]) -> None:
        choice.update(finish_reason="stop")

    return edit_choices(silent, end, LAST) if exchange.is_stream else edit_choice(silent, end)


@mutant("reasoning.before-the-answer")
def last_thought_follows_the_answer(exchange: Exchange) -> Exchange:
    """The last delta of a stream has reasoning."""
    begun = edit_deltas(exchange, lambda delta: delta.update(content="5"), FIRST)
    return edit_deltas(begun, lambda delta: delta.update(reasoning_content="Let me see."), LAST)


@mutant("reasoning.streamed-as-plain", steps="streamed*")
def streamed_thoughts_are_others(exchange: Exchange) -> Exchange:
    """The streamed reasoning differs from the plain one."""
    return edit_deltas(exchange, lambda delta: delta.update(reasoning_content="Let me see."), FIRST)


@mutant("reasoning.tokens-counted")
def thoughts_are_not_counted(exchange: Exchange) -> Exchange:
    """usage counts no reasoning tokens."""
    shown = _set_fields(exchange, {"reasoning_content": "So."})
    return edit_usage(shown, lambda usage: usage.update(completion_tokens_details={"reasoning_tokens": 0}))


@mutant("reasoning.same-beside-others", steps="beside-others")
def thoughts_end_in_the_answer(exchange: Exchange) -> Exchange:
    """With a stop string the end of the reasoning is in the answer."""
    return edit_text(exchange, lambda text: f"/think>{text}")


@mutant("reasoning.kept-in-forms")
def forms_have_no_thoughts(exchange: Exchange) -> Exchange:
    """An answer that must be JSON lacks the reasoning."""
    return _set_fields(exchange, {"reasoning": None, "reasoning_content": None})
