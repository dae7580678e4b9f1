"""A check of temperatures by the log-probabilities of what was drawn: each token as often as it should be.

At temperature T a token is drawn with a probability proportional to exp(log-probability / T). Among the alternatives
that an answer lists, whichever token was drawn, these probabilities are exact, whatever the rest of the vocabulary is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from conformance.check import Context, Finding, NotExercised, NotObserved, series
from conformance.judge.applicability import why_unanswered
from conformance.judge.logprob_entries import CUT, LEAST, LogprobEntry, all_entries, find_sure, first_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.exchange import Exchange

SCENARIO: Final = "cold-and-hot"
KNOWN: Final = "cold"
"""The part whose first token shows whether log-probabilities depend on the temperature."""
COOL: Final = "cool"
DRAWN: Final = (COOL, "hot", "all")
SAME: Final = 0.05
"""The greatest difference between two log-probabilities of one token that were computed without the temperature."""
NEAR: Final = math.log(10)
"""Tokens further below the likeliest one may be left out by a filter that the request cannot name."""
RARE: Final = math.log(100)
"""Tokens that are drawn less than once for 100 times of the likeliest one are left out: one of them would decide."""
SIGMAS: Final = 4.3
"""By how many standard deviations the sum must differ: chance does it in one of 60,000 runs."""
ENOUGH: Final = 9.0
"""The least variance of a number of tokens that is nearly normal."""
FEWEST_CHOICES: Final = 4
BY_CHANCE: Final = 1e-5
"""The probability of equal choices below which chance does not explain them."""
SHARE: Final = 0.25
"""By which share of itself 1 / T must differ, more than rounding explains."""


@dataclass(slots=True)
class Sum:
    """The log-probabilities of drawn tokens, summed up, less their expectation; and the variance of this sum.

    few, few_variance: the same for the number of tokens from the less likely half of those that are listed.
    """

    deviation: float = 0.0
    variance: float = 0.0
    few: float = 0.0
    few_variance: float = 0.0
    tokens: int = 0

    def add(self, entry: LogprobEntry, temperature: float, *, near: bool) -> None:
        """Add an entry; nothing if its token is not surely listed, or no other one could have been drawn."""
        values = find_sure(entry)
        best = max(values.values(), default=0.0)
        span = min(temperature * RARE, NEAR if near else math.inf)
        kept = [value for value in values.values() if value > best - span]
        chosen = values.get((entry.token, entry.data))
        if chosen is None or len(kept) < 2 or chosen < min(kept):
            return
        weights = [math.exp((value - best) / temperature) for value in kept]
        mean = sum(weight * value for weight, value in zip(weights, kept, strict=True)) / sum(weights)
        squares = sum(weight * (value - mean) ** 2 for weight, value in zip(weights, kept, strict=True))
        self.deviation += chosen - mean
        self.variance += squares / sum(weights)
        middle = sorted(kept)[len(kept) // 2]
        share = sum(weight for weight, value in zip(weights, kept, strict=True) if value < middle) / sum(weights)
        self.few += (chosen < middle) - share
        self.few_variance += share * (1 - share)
        self.tokens += 1


@series("effects.drawn-as-likely", scenario=SCENARIO)
def tokens_are_drawn_as_likely_as_they_are(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """At a temperature of 0.45 and of 2, also with top_k 20 or -1, likelier tokens are drawn as often as the
    temperature and their log-probabilities say.

    Judged only if log-probabilities are computed without the temperature: those of the first token are the same at each
    one. Above 1 a filter that the server has by default may explain likelier tokens, unless the request sets top_k.
    Choices that are all the same text are reported in any case, if others are nearly certain.
    """
    parts = {step.name: step.part for step in context.scenario.steps}
    known = [exchange for name, exchange in exchanges.items() if parts[name] == KNOWN]
    judged = False
    for part in DRAWN:
        drawn = [exchange for name, exchange in exchanges.items() if parts[name] == part]
        if not drawn or any(400 <= (exchange.status or 0) < 500 for exchange in (*known, *drawn)):
            continue
        if reasons := [reason for exchange in (*known, *drawn) if (reason := why_unanswered(exchange))]:
            raise NotObserved(reasons[0])
        same = [finding for exchange in drawn for finding in judge_choices(exchange)]
        yield from same
        judged = True
        if same:
            continue
        _require_raw_numbers(known, drawn)
        entries = (entry for exchange in drawn for entry in all_entries(exchange))
        yield from judge_entries(part, drawn[0].request_json, entries)
    if not judged:
        raise NotExercised("the requests are refused, or were not sent")


def judge_entries(part: str, sent: Mapping[str, Any], entries: Iterable[LogprobEntry]) -> Iterator[Finding]:
    """Yield a finding if the tokens of one part are likelier, or less likely, than the temperature allows."""
    temperature, total = sent["temperature"], Sum()
    for entry in entries:
        total.add(entry, temperature, near=part == COOL)
    if total.variance <= 0:
        return
    found = 1 / temperature + total.deviation / total.variance
    score = total.deviation / math.sqrt(total.variance) if abs(found * temperature - 1) > SHARE else 0.0
    if total.few_variance > ENOUGH:
        score = max(score, -total.few / math.sqrt(total.few_variance), key=abs)
    by_filter = score > 0 and part != COOL and "top_k" not in sent
    if abs(score) > SIGMAS and not by_filter:
        kind = "likelier" if score > 0 else "less likely"
        yield Finding(
            f"/{part}-*/choices/0/logprobs",
            f"{total.tokens} tokens as likely as at temperature {temperature:g}",
            f"{kind} ones, by {abs(score):.1f} standard deviations",
        )


def judge_choices(exchange: Exchange) -> Iterator[Finding]:
    """Yield a finding if all choices, or all but the first, are the same text although others are nearly certain."""
    texts = [choice.content for choice in exchange.choices.values()]
    same = texts[1:]
    if len(same) < FEWEST_CHOICES or not same[0] or len(set(same)) > 1:
        return
    temperature = exchange.request_json["temperature"]
    chance = math.prod(_greatest_share(entry, temperature) for entry in first_entries(exchange)) ** (len(same) - 1)
    if chance < BY_CHANCE:
        yield Finding(f"/{exchange.step}/choices", f"several texts at temperature {temperature:g}", repr(same[0])[:120])


def _greatest_share(entry: LogprobEntry, temperature: float) -> float:
    """Return the probability of the likeliest token among the alternatives, or that of the token without any."""
    weights = [math.exp(value / temperature) for value in _listed(entry).values()]
    if len(weights) > 1:
        return max(weights) / sum(weights)
    return math.exp(entry.logprob) if LEAST < entry.logprob <= 0 else 1.0


def _require_raw_numbers(known: Sequence[Exchange], drawn: Sequence[Exchange]) -> None:
    """Raise NotExercised unless the first token has the same alternatives at each temperature."""
    if not known:
        raise NotExercised("the request at a low temperature was not sent")
    base = _listed(first_entries(known[0])[0])
    for exchange in drawn:
        found = _listed(first_entries(exchange)[0])
        both = base.keys() & found.keys()
        if len(both) < 3 or any(not abs(base[token] - found[token]) < SAME for token in both):
            raise NotExercised("log-probabilities depend on the temperature, or do not repeat")
        if not _begins_with_its_tokens(exchange):
            raise NotExercised("log-probabilities name other tokens than the text has")


def _begins_with_its_tokens(exchange: Exchange) -> bool:
    """Return whether the text, or the reasoning, begins with the token of the first entry; a server may strip it."""
    token, choice = first_entries(exchange)[0].token.strip(), exchange.first_choice
    texts = (choice.content, choice.reasoning) if choice is not None else ()
    return CUT in token or any(text.strip().startswith(token) for text in texts)


def _listed(entry: LogprobEntry) -> dict[tuple[str, bytes | None], float]:
    """Return the log-probabilities of the alternatives that have a name."""
    return {(item.token, item.data): item.logprob for item in entry.top if LEAST < item.logprob <= 0 and item.token}
