"""Checks of prompt_tokens: whether every part of a conversation is counted and therefore reaches the model."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, relation
from conformance.judge.applicability import why_unanswered
from conformance.judge.token_counts import LIMITED_STEPS, comparable_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


def _prompt_tokens(exchange: Exchange) -> int:
    """Return the prompt_tokens of an answer."""
    return comparable_counts(exchange)[0]


def _counts_more(exchanges: Mapping[str, Exchange], less: str, more: str) -> Iterator[Finding]:
    """Yield a finding unless one step's prompt counts more tokens than the other's."""
    known, found = _prompt_tokens(exchanges[less]), _prompt_tokens(exchanges[more])
    if found <= known:
        yield Finding(f"/{more}/usage/prompt_tokens", f"more than {known}", f"{found}")


@relation("usage.prompt-grows", over=("short", "long"), unmet=why_unanswered)
def prompt_tokens_grow_with_the_prompt(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A prompt that contains another one and much more counts more tokens."""
    yield from _counts_more(exchanges, "short", "long")


@relation("usage.prompt-repeats", over=("plain", "plain-again"), unmet=why_unanswered)
def same_prompt_counts_the_same(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same prompt counts the same number of tokens, however often it is sent and whatever the answer is."""
    first, second = (_prompt_tokens(exchanges[name]) for name in ("plain", "plain-again"))
    if first != second:
        yield Finding("/usage/prompt_tokens", f"{first} as before", f"{second}")


@relation("usage.prompt-counted-alone", over=LIMITED_STEPS, unmet=why_unanswered)
def prompt_tokens_do_not_depend_on_the_answer(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """prompt_tokens does not depend on max_tokens: it does not include the space reserved for the answer."""
    first, *others = (_prompt_tokens(exchanges[name]) for name in LIMITED_STEPS)
    for name, other in zip(LIMITED_STEPS[1:], others, strict=True):
        if other != first:
            yield Finding(f"/{name}/usage/prompt_tokens", f"{first}", f"{other}")


@relation("usage.system-counted", over=("bare", "instructed"), unmet=why_unanswered)
def system_message_is_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A long system message in front of the same question adds to prompt_tokens: it reaches the model."""
    yield from _counts_more(exchanges, "bare", "instructed")


@relation("usage.history-counted", over=("bare", "second-turn", "third-turn"), unmet=why_unanswered)
def history_is_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Every turn in front of the question adds to prompt_tokens: the whole conversation reaches the model."""
    for fewer, more in pairwise(("bare", "second-turn", "third-turn")):
        yield from _counts_more(exchanges, fewer, more)


@relation("usage.tool-results-counted", over=("answered", "answered-at-length"), unmet=why_unanswered)
def tool_results_are_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A tool message with much more text adds to prompt_tokens: tool results reach the model."""
    yield from _counts_more(exchanges, "answered", "answered-at-length")


@relation("usage.prompt-counted-once", over=("single", "seeded-choices"), unmet=why_unanswered)
def prompt_is_counted_once_for_all_choices(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """prompt_tokens counts the prompt once, however many choices the request asks for."""
    one, several = (_prompt_tokens(exchanges[name]) for name in ("single", "seeded-choices"))
    if one != several:
        yield Finding("/seeded-choices/usage/prompt_tokens", f"{one}", f"{several}")


@relation("usage.rare-characters-counted", over=("short", "rare"), unmet=why_unanswered)
def rare_characters_are_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A prompt that continues with characters beyond the basic plane counts more tokens: they reach the model."""
    yield from _counts_more(exchanges, "short", "rare")


@relation("usage.nul-ends-nothing", over=("short", "behind-nul"))
def what_follows_a_nul_is_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Text behind a NUL character adds to prompt_tokens, unless the character is refused: it does
    not end the prompt.
    """
    if any(why_unanswered(exchange) for exchange in exchanges.values()):
        raise NotExercised("a NUL character is refused")
    short, found = (_prompt_tokens(exchanges[name]) for name in ("short", "behind-nul"))
    if found <= short + 2:  # the NUL itself may be a token, or two
        yield Finding("/behind-nul/usage/prompt_tokens", f"more than {short + 2}", f"{found}")


@relation("usage.answers-counted", over=("second-turn", "second-turn-at-length"), unmet=why_unanswered)
def earlier_answers_are_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An earlier answer with much more text adds to prompt_tokens: the assistant's messages reach the model."""
    yield from _counts_more(exchanges, "second-turn", "second-turn-at-length")


@relation("usage.parts-counted", over=("bare", "in-one", "in-parts"))
def all_parts_of_a_content_are_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A content in three parts counts about as many tokens as the same text in one part, if parts are accepted."""
    if any(why_unanswered(exchange) for exchange in exchanges.values()):
        raise NotExercised("content in parts is refused")
    bare, whole, parts = (_prompt_tokens(exchanges[name]) for name in ("bare", "in-one", "in-parts"))
    least = whole - (whole - bare) // 4  # joining the parts may cost or save a token each
    if whole > bare and parts < least:
        yield Finding("/in-parts/usage/prompt_tokens", f"at least {least}", f"{parts}")
