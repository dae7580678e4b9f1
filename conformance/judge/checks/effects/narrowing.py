"""Checks of values from the middle of a range: how many tokens top_k, top_p and min_p leave, and which temperatures
vary answers more.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from conformance.check import Context, Finding, NotExercised, NotObserved, relation, series
from conformance.judge.applicability import why_unanswered
from conformance.judge.checks.effects.sampling import is_likeliest
from conformance.judge.checks.logprobs.values import LEAST, TIE
from conformance.judge.logprob_entries import LogprobEntry, first_entries
from conformance.judge.rounds import trial

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.check import Round
    from conformance.exchange import Exchange

CLEARLY_MORE: Final = 3  # of six texts
SAME: Final = 0.05
"""The greatest difference between two log-probabilities of one token that were computed without any narrowing."""


@series("effects.top-k-kept", scenario="first-of-two")
def top_k_leaves_as_many_tokens(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With top_k 2, answers of one token to the same request are one of two, whatever the temperature is."""
    answered = [exchange for exchange in exchanges.values() if why_unanswered(exchange) is None]
    if not answered:
        raise NotObserved("no request was answered")
    texts = {(choice.reasoning or "") + (choice.content or "") for item in answered for choice in item.choices.values()}
    if len(answered) < 3:
        raise NotExercised("too few answers to compare")
    if len(texts) > 2:
        yield Finding("/choices/0/message/content", "one of two texts", f"{len(texts)} texts: {sorted(texts)}"[:200])


@relation("effects.top-p-kept", over=("free", "half"))
def top_p_leaves_the_likeliest(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With top_p 0.5 a token is chosen only if all likelier ones have less than half of the probability together.

    Judged only if log-probabilities are computed without top_p: those of the first token are the same with and without
    it.
    """
    limit: Any = exchanges["half"].request_json["top_p"]
    for entry in _entries_without_narrowing(exchanges["free"], exchanges["half"]):
        likelier = sum(math.exp(item.logprob) for item in entry.top if item.logprob > entry.logprob + TIE)
        if likelier > limit + TIE:
            yield Finding(
                f"/half{entry.where}", f"a token among the first {limit} of the probability", _describe(entry)
            )


@relation("effects.min-p-kept", over=("free", "third"))
def min_p_leaves_the_likeliest(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With min_p 0.3 no token is chosen that is less than 0.3 times as likely as the likeliest one.

    Judged only if log-probabilities are computed without min_p.
    """
    share: Any = exchanges["third"].request_json["min_p"]
    for entry in _entries_without_narrowing(exchanges["free"], exchanges["third"]):
        best = max(item.logprob for item in entry.top)
        if entry.logprob < best + math.log(share) - TIE:
            yield Finding(f"/third{entry.where}", f"at least {share} times as likely as the first", _describe(entry))


@relation("effects.top-k-chosen-among-likeliest", over=("free", "three"))
def top_k_leaves_the_likeliest(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With top_k 3 no token is chosen while three others are clearly likelier.

    Judged only if log-probabilities are computed without top_k.
    """
    number: Any = exchanges["three"].request_json["top_k"]
    for entry in _entries_without_narrowing(exchanges["free"], exchanges["three"]):
        if sum(item.logprob > entry.logprob + TIE for item in entry.top) >= number:
            yield Finding(f"/three{entry.where}", f"one of the {number} likeliest tokens", _describe(entry))


def _entries_without_narrowing(free: Exchange, narrowed: Exchange) -> list[LogprobEntry]:
    """Return the entries of the narrowed answer. Raises NotExercised unless they are computed without the narrowing."""
    if any(400 <= (exchange.status or 0) < 500 for exchange in (free, narrowed)):
        raise NotExercised("the request is refused")
    for exchange in (free, narrowed):
        if reason := why_unanswered(exchange):
            raise NotObserved(reason)
    before, entries = first_entries(free), first_entries(narrowed)
    known, found = ({item.token: item.logprob for item in start.top} for start in (before[0], entries[0]))
    both = [token for token in known.keys() & found.keys() if known[token] > LEAST]
    if len(both) < 3 or any(not abs(known[token] - found[token]) < SAME for token in both):
        raise NotExercised("log-probabilities are computed after tokens are left out, or do not repeat")
    return [entry for entry in entries if len(entry.top) >= 3 and not math.isnan(entry.logprob)]


def _describe(entry: LogprobEntry) -> str:
    likelier = sorted((item for item in entry.top if item.logprob > entry.logprob), key=lambda item: -item.logprob)
    listed = ", ".join(f"{item.token!r} {math.exp(item.logprob):.3f}" for item in likelier[:3])
    return f"{entry.token!r} {math.exp(entry.logprob):.3f}, behind {listed}"


@trial(
    "effects.low-temperature-is-greedy",
    scenario="near-zero",
    parts=("greedy", "coolest"),
    expected="the greedy text, or the same text each time",
)
def the_lowest_temperatures_are_greedy(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """At temperature 0.01 answers are the greedy one: a token that is likelier by a tenth is 10,000 times as likely.

    If two tokens are almost equally likely, the same few texts recur.
    """
    return is_likeliest(round_, earlier, "coolest")


@series("effects.temperatures-in-order", scenario="cool-and-hot")
def higher_temperatures_vary_more(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Answers to the same request do not clearly vary more at a temperature of 0.3 than at one of 1.8."""
    texts: dict[str, set[str]] = {"cool": set(), "hot": set()}
    for step in context.scenario.steps:
        exchange = exchanges.get(step.name)
        if exchange is not None and why_unanswered(exchange) is None:
            texts[step.part].add(
                (exchange.content() or "") + str([choice.reasoning for choice in exchange.choices.values()])
            )
    if not all(texts.values()):
        raise NotObserved("the requests were not answered")
    cool, hot = (len(found) for found in texts.values())
    if cool >= hot + CLEARLY_MORE:
        yield Finding("/choices/0/message/content", f"at least {cool} different texts at 1.8, as at 0.3", f"{hot}")
