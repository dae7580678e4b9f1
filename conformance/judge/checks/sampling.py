"""Checks that seeded and greedy answers repeat, and that generation reaches its limit if its end is ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, check, relation
from conformance.judge.applicability import UNENDING, not_generated, why_unanswered
from conformance.judge.evidence.answer_difference import compare_answers
from conformance.judge.evidence.own_limit import require_no_own_limit
from conformance.judge.token_counts import SAFE_LIMIT, completion_count, requested_limit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


SEEDED = ("seeded", "seeded-again", "seeded-streamed")


@relation("sampling.greedy-repeats", over=("plain", "plain-again"), unmet=why_unanswered)
def greedy_answer_repeats(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """The same request at temperature 0 gives the same text twice.

    Of two almost equally likely tokens either may be chosen if rounding differs. Not judged if that may be the cause,
    and most greedy requests of the run have the same answer each time or differ at such tokens only.
    """
    one, other = (exchanges[name] for name in ("plain", "plain-again"))
    first, second = one.content(), other.content()
    if first != second:
        repetition = context.repetition()
        usual = repetition is not None and (repetition.mostly or repetition.tied)
        if compare_answers(one, other) == "possible" and usual:
            raise NotExercised("two tokens may be almost equally likely, which the other greedy answers do not refute")
        yield Finding("/choices/0/message/content", repr(first)[:200], repr(second)[:200])


@relation("sampling.seed-repeats", over=("seeded", "seeded-again"), unmet=why_unanswered)
def seeded_answer_repeats(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same request with the same seed gives the same text twice."""
    first, second = (exchanges[name].content() for name in ("seeded", "seeded-again"))
    if first != second:
        yield Finding("/choices/0/message/content", repr(first)[:200], repr(second)[:200])


@relation("sampling.seed-heeded-in-streams", over=SEEDED, unmet=why_unanswered)
def seed_is_heeded_in_streams(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A seed gives the same text streamed as plain.

    Not judged if plain answers with the seed differ. Space at the ends of the text does not count.
    """
    first, second, streamed = ((exchanges[name].content() or "").strip() for name in SEEDED)
    if first != second:
        raise NotExercised("plain answers with the same seed differ")
    if first != streamed:
        yield Finding("/seeded-streamed/choices/0/delta/content", repr(first)[:200], repr(streamed)[:200])


@relation("sampling.seed-heeded-with-logprobs", over=("seeded", "seeded-again", "seeded-told"), unmet=why_unanswered)
def seed_is_heeded_with_log_probabilities(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A seed gives the same text with and without log-probabilities, if it gives the same text twice without."""
    first, second, with_logprobs = (
        exchanges[name].content() or "" for name in ("seeded", "seeded-again", "seeded-told")
    )
    if first != second:
        raise NotExercised("answers with the same seed differ")
    if first != with_logprobs:
        yield Finding("/seeded-told/choices/0/message/content", repr(first)[:200], repr(with_logprobs)[:200])


@check("sampling.eos-ignored", on=not_generated(UNENDING))
def generation_goes_on_past_the_end(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """With ignore_eos generation continues to max_tokens, as far as the server's own limit allows."""
    limit, found = min(requested_limit(exchange), SAFE_LIMIT), completion_count(exchange)
    if found < limit:
        require_no_own_limit(exchange, context)
        yield Finding("/usage/completion_tokens", f"{limit}, because the end is ignored", f"{found}")
