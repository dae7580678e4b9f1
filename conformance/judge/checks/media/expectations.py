"""What the checks of media expect of answers: that there are any, that they differ, and that they are counted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from conformance.check import Context, Finding, NotExercised, NotObserved
from conformance.judge.acceptance import is_refused
from conformance.judge.answer_fields import REASONING_TAGS
from conformance.judge.applicability import summarize, why_no_response, why_unanswered
from conformance.judge.logprob_entries import are_same, precise_alternatives
from conformance.judge.token_counts import comparable_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


SHOWN: Final = ("red", "green", "blue")
"""The colours of the images, in the order in which three of them are sent."""


def require_answers(exchanges: Mapping[str, Exchange], context: Context) -> None:
    """Raise NotExercised if the server refused a request, which another check reports; NotObserved for a failure."""
    for exchange in exchanges.values():
        if is_refused(exchange, context.contract):
            raise NotExercised(f"{exchange.id} was refused ({summarize(exchange)})")
        if reason := why_unanswered(exchange):
            raise NotObserved(reason)


def require_repeating(context: Context) -> None:
    """Raise NotExercised if one greedy request has several answers."""
    repeated = context.repetition()
    if repeated is not None and not repeated.mostly and not repeated.always:
        raise NotExercised("greedy answers of this server do not repeat")


def plain_words(exchange: Exchange) -> str:
    return " ".join((exchange.content() or "").split()).casefold().strip(" .!")


def named_colours(exchange: Exchange) -> list[str]:
    """Return the colours of the images that an answer names, in its order and without repetitions."""
    words = re.findall(r"\w+", (exchange.content() or "").casefold())
    return list(dict.fromkeys(word for word in words if word in SHOWN))


def expect_other_values(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Yield a finding if two different media lead to the same log-probabilities."""
    require_answers(exchanges, context)
    (first, one), (second, other) = exchanges.items()
    known, found = (precise_alternatives(exchange) for exchange in (one, other))
    if not known or not found:
        raise NotExercised("the answers have too few alternatives")
    if are_same(known, found):
        got = ", ".join(f"{token!r} {value:.4f}" for token, value in found.items())
        yield Finding(f"/{second}/choices/0/logprobs", f"other log-probabilities than of {first}", got[:200])


def expect_other_answer(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Yield a finding if two different media get one answer."""
    require_answers(exchanges, context)
    (first, one), (second, other) = exchanges.items()
    if plain_words(one) == plain_words(other):
        if one.finish_reason() == other.finish_reason() == "length" and REASONING_TAGS.search(one.content() or ""):
            raise NotExercised("both answers are cut off within their reasoning")
        yield Finding(
            f"/{second}/choices/0/message/content", f"another answer than to {first}", repr(other.content())[:200]
        )


def expect_more_tokens(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Yield a finding unless each prompt counts more tokens than the one before."""
    require_answers(exchanges, context)
    counts = {name: comparable_counts(exchange)[0] for name, exchange in exchanges.items()}
    (_, fewer), (name, more) = counts.items()
    if more <= fewer:
        yield Finding(f"/{name}/usage/prompt_tokens", f"more than {fewer}", str(more))


def expect_answers_like_first(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Yield a finding for each file that is not answered as the first is; a model may not take this kind at all."""
    (first, known), *others = exchanges.items()
    require_answers({first: known}, context)
    for name, exchange in others:
        if why_unanswered(exchange):
            yield Finding(f"/{name}/status", f"an answer, as for {first}", summarize(exchange))


def expect_answer_or_refusal(exchange: Exchange) -> Iterator[Finding]:
    if reason := why_no_response(exchange):
        raise NotObserved(reason)
    if exchange.status is None or exchange.status >= 500:
        yield Finding("/status", "an answer, or a status from 400 to 499", summarize(exchange))


def expect_answer(exchange: Exchange) -> Iterator[Finding]:
    """Yield a finding unless the request was answered."""
    if why_unanswered(exchange):
        yield Finding("/status", "an answer", summarize(exchange))


def expect_refusal(exchange: Exchange, context: Context) -> Iterator[Finding]:
    if reason := why_no_response(exchange):
        raise NotObserved(reason)
    if not is_refused(exchange, context.contract):
        yield Finding("/status", "a status from 400 to 499", summarize(exchange))
