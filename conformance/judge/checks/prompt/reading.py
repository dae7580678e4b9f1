"""Checks of whether the model reads all of a prompt: every word, every kind of text and every part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, relation, series
from conformance.judge.applicability import why_unanswered
from conformance.judge.logprob_entries import are_same, precise_alternatives
from conformance.judge.token_counts import known_prompt_count
from conformance.plan.scenarios.prompts.first_words import FIRST_WORDS, LAST_WORDS, SPARE_TOKENS
from conformance.plan.scenarios.prompts.mixed_parts import PICTURE_ALONE, PICTURES, THINKING, THINKING_ALONE
from conformance.plan.scenarios.prompts.prompt_parts import FROM_AN_ANSWER, ONE_TURN, REPLACED, WITHOUT
from conformance.plan.scenarios.prompts.prompt_parts import SCENARIO as PARTS
from conformance.plan.scenarios.prompts.text_kinds import GROWING, OTHER
from conformance.plan.scenarios.prompts.text_kinds import SCENARIO as LOOK_ALIKE
from conformance.plan.scenarios.prompts.text_parts import NULL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

WHOLE = ("long", "hundreds", "turns")
"""The requests that others differ from in a word. Their names are the beginnings of those of the others."""
NOTES_ALONE = "notes"
TEMPLATE_TOKENS = 40
"""Tokens that a template adds to a message at most, unless it has instructions of its own."""
TOKENS_OF_NULL = 6
"""Tokens that a word in place of null may add."""
SHARE_OF_PICTURE = 3
"""A picture may take fewer tokens next to others: some servers divide fewer pictures into tiles."""


@series("prompt.every-word-read", scenario="prompts-that-differ-in-a-word")
def every_word_changes_the_answer(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A word that is replaced anywhere in a prompt changes the log-probabilities of the answer: the model reads it.

    The place is the start, the middle or the end of a long prompt, the end of one of some hundred tokens, the
    instructions, or a turn of a conversation. Not judged if the same request has other log-probabilities each time, or
    if they are rounded.
    """
    bases = {name: precise_alternatives(exchange) for name, exchange in exchanges.items() if name in WHOLE}
    compared = False
    for name, exchange in exchanges.items():
        base = bases.get(name.partition("-")[0])
        found = precise_alternatives(exchange)
        if name in bases or not base or not found:
            continue
        compared = True
        if are_same(base, found):
            got = f"the same log-probabilities: {', '.join(f'{token!r} {value:.4f}' for token, value in base.items())}"
            yield Finding(
                f"/{name}/choices/0/logprobs", "other log-probabilities than without the other word", got[:200]
            )
    if not compared:
        raise NotExercised("the answers have too few alternatives")


@relation("prompt.middle-read", over=("refused-plain", "refused-streamed"))
def another_word_in_the_middle_changes_the_answer(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Another word in the middle of a prompt of some thousand tokens changes the log-probabilities of the answer: all
    of the prompt reaches the model, not only its beginning and its end.

    Not judged if log-probabilities are rounded.
    """
    known, found = (precise_alternatives(exchange) for exchange in exchanges.values())
    if not known or not found:
        raise NotExercised("the prompt is refused, or the answers have too few alternatives")
    if are_same(known, found):
        yield Finding("/refused-streamed/choices/0/logprobs", "other ones than with the other word", "the same ones")


@series("prompt.every-character-read", scenario=LOOK_ALIKE)
def every_text_is_read_as_sent(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Another text of one kind in a message leads to other log-probabilities, and a longer one counts more tokens: no
    kind of text is masked, converted or dropped.

    The kinds are addresses, numbers and names that people keep secret, markup, escapes, placeholders, white space,
    letters and signs of other scripts, and values that are written in another notation. Log-probabilities that are
    rounded are not compared, nor are counts of words. Words that look like commands at the beginnings of messages count
    about as many tokens as at their ends. Words within tags, comments, links, placeholders and secrets count about as
    many as next to them.
    """
    compared = False
    are_words = any(_counts_words(exchange) for name, exchange in exchanges.items() if name == NOTES_ALONE)
    for name, exchange in exchanges.items():
        base, _found, kind = name.partition(OTHER)
        whole = exchanges.get(base)
        if whole is None or whole is exchange or why_unanswered(whole) or why_unanswered(exchange):
            continue
        fewer, count = (
            known_prompt_count(answer) if kind in GROWING and not are_words else 0 for answer in (whole, exchange)
        )
        known, found = precise_alternatives(whole), precise_alternatives(exchange)
        compared = compared or bool(fewer and count) or bool(known and found)
        if fewer and count and count <= fewer:
            yield Finding(f"/{name}/usage/prompt_tokens", f"more than the {fewer} of {base}", f"{count}")
        elif known and found and are_same(known, found):
            yield Finding(f"/{name}/choices/0/logprobs", f"other log-probabilities than of {base}", "the same ones")
    first, last = (_count_answered(exchanges.get(name)) for name in (FIRST_WORDS, LAST_WORDS))
    compared = compared or bool(first and last)
    if first and last and first < last - SPARE_TOKENS:
        yield Finding(f"/{FIRST_WORDS}/usage/prompt_tokens", f"about the {last} of {LAST_WORDS}", f"{first}")
    if not compared:
        raise NotExercised("the requests are refused, or the answers have neither usage nor enough alternatives")


@series("prompt.every-part-read", scenario=PARTS)
def every_part_is_read(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Without a clause of any of its parts a long request counts fewer prompt tokens, and is answered differently.

    The parts are instructions, earlier turns that may be equal, calls and their results, the descriptions and schemas
    of tools, pictures and sounds, and the switch of the reasoning, next to each other. A picture counts at least a
    third of the tokens that it counts alone. Where a clause is replaced instead of left out, the counts may be the
    same. A message with null counts a little fewer than one with a word in its place, and is answered differently. An
    answer before the first question is read, too.
    """
    compared = False
    picture = _count_picture(exchanges)
    for name, exchange in exchanges.items():
        request, *part = name.split(WITHOUT)
        whole = exchanges.get(request)
        if whole is None or whole is exchange or why_unanswered(whole) or why_unanswered(exchange) or THINKING in part:
            continue
        most, count = (known_prompt_count(answer) if REPLACED.isdisjoint(part) else 0 for answer in (whole, exchange))
        least = picture / SHARE_OF_PICTURE if not PICTURES.isdisjoint(part) else 1
        known, found = precise_alternatives(whole), precise_alternatives(exchange)
        compared = compared or bool(most and count and least) or bool(known and found)
        if most and count and most - count < least:
            expected = f"at most {math.floor(most - least)}, as the whole request counts {most}"
            yield Finding(f"/{name}/usage/prompt_tokens", expected, f"{count}")
        elif known and found and are_same(known, found):
            yield Finding(
                f"/{name}/choices/0/logprobs", "other ones than with the clause", "the same log-probabilities"
            )
    others = [
        *_find_lost_switches(exchanges),
        *_find_lost_next_to_null(exchanges),
        *_find_lost_first_answers(exchanges),
    ]
    yield from others
    if not compared and not others:
        raise NotExercised("the requests are refused, or the answers have neither usage nor enough alternatives")


def _counts_words(exchange: Exchange) -> bool:
    """Return whether prompt_tokens of a message with texts of many kinds has about as many tokens as words.

    A model that reads characters has many more tokens for addresses, keys and escapes.
    """
    words = str(exchange.request_json["messages"][-1]["content"]).split()
    return known_prompt_count(exchange) <= len(words) + TEMPLATE_TOKENS


def _find_lost_next_to_null(exchanges: Mapping[str, Exchange]) -> Iterator[Finding]:
    """Yield a message with null that counts as many tokens as with a word in its place, or clearly fewer."""
    for name in exchanges:
        request, _, part = name.partition(WITHOUT)
        null, text = (_count_answered(exchanges.get(step)) for step in (request, name))
        if part == NULL and null and text and not 0 < text - null <= TOKENS_OF_NULL:
            yield Finding(
                f"/{request}/usage/prompt_tokens", f"a little less than the {text} with a word in its place", f"{null}"
            )


def _find_lost_first_answers(exchanges: Mapping[str, Exchange]) -> Iterator[Finding]:
    """Yield a conversation that begins with an answer and counts as many tokens as without it, or fewer."""
    found, without = (_count_answered(exchanges.get(name)) for name in (FROM_AN_ANSWER, ONE_TURN))
    if found and without and found <= without:
        yield Finding(f"/{FROM_AN_ANSWER}/usage/prompt_tokens", f"more than the {without} of {ONE_TURN}", f"{found}")


def _count_answered(exchange: Exchange | None) -> int:
    """Return the prompt_tokens of an answer that there is, or else 0."""
    return 0 if exchange is None or why_unanswered(exchange) else known_prompt_count(exchange)


def _count_picture(exchanges: Mapping[str, Exchange]) -> int:
    """Return the prompt tokens of a picture alone; 0 if they are not counted."""
    pair = [exchanges.get(name) for name in (PICTURE_ALONE, f"{PICTURE_ALONE}{WITHOUT}picture")]
    shown, bare = (
        known_prompt_count(exchange) if exchange and not why_unanswered(exchange) else 0 for exchange in pair
    )
    return max(0, shown - bare) if shown and bare else 0


def _find_lost_switches(exchanges: Mapping[str, Exchange]) -> Iterator[Finding]:
    """Yield each request in which the switch of the reasoning changes less than in a request without other parts."""
    alone = _compare_switched(exchanges, THINKING_ALONE)
    for name in exchanges:
        request, _, part = name.partition(WITHOUT)
        if part != THINKING or request == THINKING_ALONE:
            continue
        lost = [
            what for what, differs in _compare_switched(exchanges, request).items() if alone.get(what) and not differs
        ]
        if lost:
            expected = "another prompt than with reasoning, as in a request without other parts"
            yield Finding(f"/{name}/chat_template_kwargs/enable_thinking", expected, f"the same {' and '.join(lost)}")


def _compare_switched(exchanges: Mapping[str, Exchange], request: str) -> dict[str, bool]:
    """Return whether a request with and without reasoning differs in what shows its prompt, as far as it is known."""
    pair = [exchanges.get(name) for name in (request, f"{request}{WITHOUT}{THINKING}")]
    if any(exchange is None or why_unanswered(exchange) for exchange in pair):
        return {}
    counts = [known_prompt_count(exchange) for exchange in pair if exchange]
    known, found = (precise_alternatives(exchange) for exchange in pair if exchange)
    shown = {"prompt_tokens": counts[0] != counts[1]} if all(counts) else {}
    return {**shown, **({"log-probabilities": not are_same(known, found)} if known and found else {})}
