"""TODO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import add_tokens, edit_usage
from conformance.proof.mutants.mutant import Mutant, mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def _of_one_token(exchange: Exchange) -> Exchange:
    return edit_usage(
        exchange, lambda usage: usage.update(prompt_tokens=1, total_tokens=usage["completion_tokens"] + 1)
    )


def _unread(check: str, sin: str, steps: str | None = None) -> Mutant:
    """A server that reads less of the prompt than it was sent, and counts less for it."""
    return Mutant(check, sin, _of_one_token, steps=steps)


LONG = _unread("usage.prompt-grows", "The longer prompt counts one token.")


SYSTEM = _unread("usage.system-counted", "The system message is dropped, and nothing is counted for it.")


HISTORY = _unread("usage.history-counted", "All turns but the last are dropped, and nothing is counted for them.")


TOOLS = _unread("usage.tool-results-counted", "What tools say is dropped, and nothing is counted for it.")


RARE = _unread("usage.rare-characters-counted", "Characters beyond the basic plane are dropped.", "rare")


NUL = _unread("usage.nul-ends-nothing", "A prompt ends at its first NUL character.", "behind-nul")


ANSWERS = _unread("usage.answers-counted", "What the assistant said before is dropped.", "second-turn-at-length")


PARTS = _unread("usage.parts-counted", "Of a content in parts not all are read.", "in-parts")


@mutant("usage.prompt-repeats")
def same_prompt_counts_one_more(exchange: Exchange) -> Exchange:
    """The second time, the same prompt counts one token more."""
    return add_tokens(exchange, prompt=1)


@mutant("usage.prompt-counted-alone", steps="at-3")
def limit_is_counted_as_prompt(exchange: Exchange) -> Exchange:
    """prompt_tokens counts the room that max_tokens leaves for the answer."""
    return add_tokens(exchange, prompt=3)


@mutant("usage.prompt-counted-once", steps="seeded-choices")
def prompt_is_counted_for_each_choice(exchange: Exchange) -> Exchange:
    """The prompt is counted once for each choice."""
    return edit_usage(exchange, lambda usage: usage.update(prompt_tokens=usage["prompt_tokens"] * 5))
