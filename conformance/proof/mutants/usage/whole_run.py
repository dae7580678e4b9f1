"""Mutants of counts that differ from those of other answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import add_tokens, edit_either, edit_usage
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def _count_one(usage: dict[str, Any]) -> None:
    """Count one prompt token."""
    usage.update(prompt_tokens=1, total_tokens=1 + usage["completion_tokens"])


@mutant("usage.prompt-counted-alike", scenario="greedy")
def one_prompt_counts_more(exchange: Exchange) -> Exchange:
    """In one of several answers to a prompt, it counts one more token."""
    return add_tokens(exchange, prompt=1)


@mutant("usage.text-counted-alike", scenario="greedy")
def one_text_counts_more(exchange: Exchange) -> Exchange:
    """In one of several equal answers, the text counts one more token."""
    return add_tokens(exchange, completion=1)


@mutant("usage.tools-counted", scenario="tools")
def tools_are_free(exchange: Exchange) -> Exchange:
    """A prompt with tools counts as many tokens as a very short one."""
    return edit_usage(exchange, _count_one)


@mutant("usage.turns-counted", scenario="conversation*")
def turns_are_free(exchange: Exchange) -> Exchange:
    """A conversation counts as many tokens as a very short prompt."""
    return edit_usage(exchange, _count_one)


@mutant("usage.tokens-shown", scenario="greedy")
def tokens_show_nothing(exchange: Exchange) -> Exchange:
    """An answer counts its tokens and has no text."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            (choice.get("message") or choice["delta"])["content"] = ""

    return edit_either(exchange, change)
