"""Checks of values from the middle of a range: how many tokens top_k, top_p and min_p leave, and which temperatures
vary answers more.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from conformance.check import Context, Finding, NotExercised, NotObserved, series
from conformance.judge.applicability import why_unanswered
from conformance.judge.checks.logprobs.values import LEAST, TIE
from conformance.judge.evidence.repetition import require_repetition
from conformance.judge.logprob_entries import LogprobEntry, all_entries, first_entries, name_the_text
from conformance.judge.token_counts import requested_limit
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

SAME: Final = 0.05
"""The greatest difference between two log-probabilities of one token that were computed without any narrowing."""
ROUNDING: Final = 0.05
"""By how much a sum of probabilities may be off."""
SMALL_ROUNDING: Final = 0.02
"""The same for the sum of a few."""
CONSIDERED: Final = 10
"""The least number of likeliest tokens that a server chooses from by default, and the top_k of the request."""
BY_CHANCE: Final = 1e-5
"""The probability below which chance does not explain which tokens are drawn."""
CLEARLY: Final = 0.25
"""By how much log-probabilities must differ for an order that numerical noise does not change."""
FEW: Final = 2  # texts, if two tokens of an answer are almost equally likely; or tokens that chance may explain
CLEARLY_MORE: Final = 3  # of five texts


@series("effects.top-k-kept", scenario="first-of-two")
def top_k_leaves_as_many_tokens(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """With top_k 2, answers of one token to the same request are one of two, whatever the temperature is."""
    texts = _texts_of(exchanges, context, "draw", "several")
    if any(requested_limit(exchange) > 1 for exchange in exchanges.values()):
        raise NotExercised("the contract does not allow answers of one token")
    if len(texts) > 2:
        require_repetition(context)
        yield Finding(
            "/choices/0/message/content",
            "one of two texts",
            f"{format_quantity(len(texts), 'text')}: {sorted(texts)}"[:200],
        )


@series("effects.top-k-ranks", scenario="narrowed-in-numbers")
def top_k_leaves_the_likeliest(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With top_k 2 at temperature 2 and without penalties, hardly any token is chosen that is clearly less likely than
    two others.

    Temperatures keep the order of tokens, so that it does not matter whether log-probabilities are computed before or
    after them. Judged only if log-probabilities belong to the tokens that were chosen.
    """
    ranked = exchanges.get("ranked")
    if ranked is None or 400 <= (ranked.status or 0) < 500:
        raise NotExercised("the request is refused, or was not sent")
    if reason := why_unanswered(ranked):
        raise NotObserved(reason)
    if not name_the_text(ranked):
        raise NotExercised("log-probabilities name other tokens than the text has")
    limit = ranked.request_json["top_k"]
    entries = [entry for entry in all_entries(ranked) if len(entry.top) > limit]
    if not entries:
        raise NotExercised("no token has more alternatives than remain")
    behind = [entry for entry in entries if sum(item.logprob > entry.logprob + CLEARLY for item in entry.top) >= limit]
    if len(behind) >= FEW:
        expected = f"one of the {limit} likeliest tokens"
        yield Finding(
            f"/ranked{behind[0].where}",
            expected,
            f"{_describe(behind[0])}; {format_quantity(len(behind), 'token')} like this",
        )


@series("effects.top-p-kept", scenario="narrowed-in-numbers")
def top_p_leaves_the_likeliest(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """With top_p 0.5 a token is chosen only if all likelier ones have less than half of the probability together.

    Judged only if log-probabilities are computed without top_p: those of the first token are the same with and without
    it; and only if they belong to the tokens that were chosen, so that these make the text.
    """
    for exchange, entry in _entries_without_narrowing(exchanges, context, "half"):
        limit = exchange.request_json["top_p"]
        likelier = sum(_probability(item) for item in entry.top if item.logprob > entry.logprob + TIE)
        if likelier > limit + ROUNDING:
            expected = f"a token among the first {limit} of the probability"
            yield Finding(f"/{exchange.step}{entry.where}", expected, _describe(entry))


@series("effects.top-p-whole", scenario="narrowed-in-numbers")
def top_p_keeps_the_token_that_reaches_it(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """With top_p 0.5, also of the ten likeliest tokens, the last of those that it takes to have half of the probability
    is chosen, too.

    Reported if no such token, and none behind it, is ever chosen, although chance explains that in one of 100,000 runs.
    Judged only if log-probabilities are computed without top_p, and belong to the tokens that were chosen.
    """
    chance, missed, number = 1.0, "", 0
    for exchange, entry in _entries_without_narrowing(exchanges, context, "few"):
        before, last = _divide(entry, exchange.request_json["top_p"])
        if last is None:
            continue
        if not any(item.token == entry.token for item in before):
            return
        share = sum(map(_probability, before))
        chance, missed, number = chance * share / (share + _probability(last)), last.token, number + 1
    if not number:
        raise NotExercised("no answer shows which tokens are left")
    if chance < BY_CHANCE:
        yield Finding(
            "/few/choices/*/logprobs",
            f"some of the {number} tokens that reach top_p, such as {missed!r}",
            "only tokens in front of them",
        )


def _divide(entry: LogprobEntry, limit: float) -> tuple[list[LogprobEntry], LogprobEntry | None]:
    """Return the tokens in front of the one that reaches top_p, and that one; None if it is the first or uncertain.

    If the server chooses from more than these tokens, it needs more of them to reach top_p.
    """
    listed = sorted((item for item in entry.top if item.logprob > LEAST), key=lambda item: -item.logprob)[:CONSIDERED]
    total, share = sum(map(_probability, listed)), 0.0
    for at, item in enumerate(listed):
        after = share + _probability(item) / total
        if after > limit:
            return listed[:at], item if at and share < limit - SMALL_ROUNDING else None
        share = after
    return [], None


@series("effects.min-p-kept", scenario="narrowed-in-numbers")
def min_p_leaves_the_likeliest(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """With min_p 0.3 no token is chosen that is less than 0.3 times as likely as the likeliest one.

    Judged only if log-probabilities are computed without min_p, and belong to the tokens that were chosen.
    """
    for exchange, entry in _entries_without_narrowing(exchanges, context, "third"):
        share, best = exchange.request_json["min_p"], max(item.logprob for item in entry.top)
        if entry.logprob < best + math.log(share) - TIE:
            expected = f"at least {share} times as likely as the first"
            yield Finding(f"/{exchange.step}{entry.where}", expected, _describe(entry))


def _entries_without_narrowing(
    exchanges: Mapping[str, Exchange], context: Context, part: str
) -> Iterator[tuple[Any, LogprobEntry]]:
    """Yield the entries of the answers to one part, each with its exchange.

    Raises NotExercised unless they are computed without the narrowing and name the tokens of the text, and NotObserved
    if nothing was answered.
    """
    parts = {step.name: step.part or step.name for step in context.scenario.steps}
    narrowed = [exchange for name, exchange in exchanges.items() if parts[name] == part]
    free = exchanges.get("free")
    if free is None or not narrowed:
        raise NotExercised("the request was not sent")
    if any(400 <= (exchange.status or 0) < 500 for exchange in (free, *narrowed)):
        raise NotExercised("the request is refused")
    if reasons := [reason for exchange in (free, *narrowed) if (reason := why_unanswered(exchange))]:
        raise NotObserved(reasons[0])
    known = _first_alternatives(free)
    for exchange in narrowed:
        found = _first_alternatives(exchange)
        both = [token for token in known.keys() & found.keys() if known[token] > LEAST]
        if len(both) < 3 or any(not abs(known[token] - found[token]) < SAME for token in both):
            raise NotExercised("log-probabilities are computed after tokens are left out, or do not repeat")
        if not name_the_text(exchange):
            raise NotExercised("log-probabilities name other tokens than the text has")
        for entry in all_entries(exchange):
            if len(entry.top) > 2 and not math.isnan(entry.logprob):
                yield exchange, entry


def _first_alternatives(exchange: Exchange) -> dict[str, float]:
    return {item.token: item.logprob for item in first_entries(exchange)[0].top}


def _probability(item: LogprobEntry) -> float:
    """Return the probability of a token; 1 if its log-probability is above 0, which has a check of its own."""
    return math.exp(min(item.logprob, 0.0))


def _describe(entry: LogprobEntry) -> str:
    likelier = sorted((item for item in entry.top if item.logprob > entry.logprob), key=lambda item: -item.logprob)
    listed = ", ".join(f"{item.token!r} {_probability(item):.3f}" for item in likelier[:3])
    return f"{entry.token!r} {_probability(entry):.3f}, behind {listed}"


@series("effects.low-temperature-is-greedy", scenario="cold-and-hot")
def the_lowest_temperatures_are_greedy(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """At temperature 0.01 the same request has one answer: a token that is likelier by a tenth is 10,000 times as
    likely.

    If two tokens are almost equally likely there may be two answers.
    """
    texts = _texts_of(exchanges, context, "cold")
    if len(texts) > FEW:
        require_repetition(context)
        yield Finding("/choices/0/message/content", f"at most {FEW} texts", f"{len(texts)}: {sorted(texts)}"[:200])


@series("effects.temperatures-in-order", scenario="cold-and-hot")
def higher_temperatures_vary_more(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Answers to the same request do not vary more at a temperature of 0.01 than at one of 1.8."""
    cold, hot = (len(_texts_of(exchanges, context, part)) for part in ("cold", "hot"))
    if cold >= hot + CLEARLY_MORE:
        yield Finding("/choices/0/message/content", f"at least {cold} different texts at 1.8, as at 0.01", f"{hot}")


def _texts_of(exchanges: Mapping[str, Exchange], context: Context, *parts: str) -> set[str]:
    """Return the different texts of the choices of all answers to one part, or to several.

    Raises NotObserved if one of them is missing, and NotExercised if the contract does not allow the request.
    """
    steps = [step for step in context.scenario.steps if step.part in parts]
    if not steps:
        raise NotExercised("the contract does not allow the request")
    own = [exchanges[step.name] for step in steps if step.name in exchanges]
    if reasons := [reason for exchange in own if (reason := why_unanswered(exchange))] or not own:
        raise NotObserved(reasons[0] if isinstance(reasons, list) else "it was not sent")
    return {choice.reasoning + choice.content for exchange in own for choice in exchange.choices.values()}
