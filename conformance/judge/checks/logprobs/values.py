"""TODO."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, check, relation
from conformance.judge.applicability import not_generated, why_unanswered
from conformance.judge.checks.logprobs.entries import ASKED, ROUNDING
from conformance.judge.logprob_entries import LogprobEntry, all_entries, entries_by_choice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

TIE = 0.1  # tokens closer than that may be taken for equal

DRIFT = 0.3  # between two runs of the same request: logits in bfloat16 are an eighth or a quarter apart

SEVERAL = 4  # tokens: of fewer, chance alone says the same

LEAST = -1000.0  # below it stands what is told of any unlikely token alike


@check("logprobs.not-positive", on=ASKED)
def log_probabilities_are_finite_and_not_positive(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every log-probability, of a token or of an alternative, is finite and at most 0."""
    for entry in all_entries(exchange):
        for each in (entry, *entry.top):
            if not each.logprob <= ROUNDING or math.isinf(each.logprob):
                yield Finding(f"{each.where}/logprob", "a number of at most 0", repr(each.fields.get("logprob"))[:80])


@check("logprobs.within-one", on=ASKED)
def probabilities_add_up_to_one_at_most(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The probabilities of an entry's alternatives add up to 1 at most."""
    for entry in all_entries(exchange):
        total = sum(math.exp(min(each.logprob, 1.0)) for each in entry.top if not math.isnan(each.logprob))
        if total > 1 + 10 * ROUNDING:
            yield Finding(f"{entry.where}/top_logprobs", "at most 1 in all", f"{total:.4f}")


@check("logprobs.chosen-as-listed", on=ASKED)
def chosen_token_is_told_as_among_the_alternatives(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A chosen token that stands among its alternatives has the same log-probability there."""
    seen = False
    for entry in all_entries(exchange):
        for each in entry.top:
            if (each.token, each.fields.get("bytes")) == (
                entry.token,
                entry.fields.get("bytes"),
            ) and each.identifies_token:
                seen = True
                if abs(each.logprob - entry.logprob) > ROUNDING:
                    yield Finding(f"{each.where}/logprob", f"{entry.logprob}", f"{each.logprob}")
    if not seen:
        raise NotExercised("no chosen token stands among its alternatives")


@check("logprobs.greedy-token-is-likeliest", on=ASKED)
def greedy_choice_is_the_likeliest_token(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """At temperature 0 no alternative is more likely than the chosen token."""
    _look_for_what_changes_the_choice(exchange)
    for entry in all_entries(exchange):
        best = max((each.logprob for each in entry.top), default=-math.inf)
        if best > entry.logprob + TIE:
            yield Finding(f"{entry.where}/logprob", f"at least {best}", f"{entry.logprob}")


@check("logprobs.greedy-token-is-listed", on=ASKED)
def greedy_choice_stands_among_the_alternatives(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """At temperature 0 the chosen tokens stand among the likeliest: their entries are their own.

    Blamed is an answer in which most do not; a few may be written otherwise there, or be one of many that are equal.
    """
    _look_for_what_changes_the_choice(exchange)
    for index, kept in entries_by_choice(exchange).items():
        shown = [entry for entry in kept if entry.top and entry.identifies_token]
        listed = [entry for entry in shown if any(_is_same(each, entry) for each in entry.top)]
        if len(shown) < SEVERAL:
            raise NotExercised("too few tokens tell their alternatives")
        if 2 * len(listed) < len(shown):
            yield Finding(f"/choices/{index}/logprobs/content", f"{len(shown)} tokens listed", f"{len(listed)} of them")


def _look_for_what_changes_the_choice(exchange: Exchange) -> None:
    """Raises NotExercised unless the chosen token is the one that the model finds likeliest."""
    sent: Any = exchange.request_json
    changing = ("presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias", "response_format", "tools")
    if sent.get("temperature") != 0 or any(sent.get(name) for name in (*changing, "use_beam_search", "best_of")):
        raise NotExercised("the token need not be the likeliest one")


def _is_same(one: LogprobEntry, other: LogprobEntry) -> bool:
    return one.token == other.token or (one.data is not None and one.data == other.data)


@check("logprobs.numbers-vary", on=not_generated(ASKED))
def numbers_are_not_all_the_same(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Different tokens do not all have the same log-probability, unless all are certain."""
    for index, kept in entries_by_choice(exchange).items():
        numbers = {entry.logprob for entry in kept}
        if len({entry.token for entry in kept}) < SEVERAL or math.isnan(kept[0].logprob):
            raise NotExercised("too few different tokens")
        if len(numbers) == 1 and LEAST < kept[0].logprob < -ROUNDING:
            yield Finding(f"/choices/{index}/logprobs/content", "numbers that vary", f"{kept[0].logprob} for all")


@relation("logprobs.streamed-as-plain", over=("told", "told-streamed"), unmet=why_unanswered)
def streamed_entries_are_the_plain_ones(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request has the same entries, streamed and plain."""
    plain, streamed = exchanges["told"], exchanges["told-streamed"]
    if plain.content() != streamed.content():
        raise NotExercised("the greedy answer did not repeat")
    first, second = (entries_by_choice(exchange).get(0, []) for exchange in (plain, streamed))
    tokens, others = ([entry.token for entry in kept] for kept in (first, second))
    if tokens != others:
        yield Finding("/choices/0/logprobs/content", repr(tokens)[:200], repr(others)[:200])
        return
    yield from _alike(first, second, "told-streamed")


@relation("logprobs.cut-as-whole", over=("told", "alone", "bare"), unmet=why_unanswered)
def entries_of_a_cut_answer_are_those_of_the_whole(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A greedy answer that is cut off has the numbers of the whole one, to its last token: they are its own."""
    whole = entries_by_choice(exchanges["told"]).get(0, [])
    for name in ("alone", "bare"):
        cut = entries_by_choice(exchanges[name]).get(0, [])
        if [entry.token for entry in cut] != [entry.token for entry in whole[: len(cut)]]:
            raise NotExercised("the greedy answer did not repeat")
        yield from _alike(whole, cut, name)


@relation("logprobs.told-by-what-came-before", over=("sampled", "sampled-again"), unmet=why_unanswered)
def numbers_depend_on_what_came_before_alone(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """As far as two sampled answers to one request say the same, their tokens have the same log-probabilities.

    What comes behind a token is not known when it is drawn, and does not change its number.
    """
    first, second = (entries_by_choice(exchanges[name]).get(0, []) for name in ("sampled", "sampled-again"))
    pairs = enumerate(zip(first, second, strict=False))
    same = next((at for at, (one, other) in pairs if one.token != other.token), min(len(first), len(second)))
    if not same:
        raise NotExercised("the answers begin differently")
    yield from _alike(first[:same], second[:same], "sampled-again")


def _alike(known: list[LogprobEntry], found: list[LogprobEntry], name: str) -> Iterator[Finding]:
    """What differs clearly between two runs; the less likely a token, the more its number depends on rounding."""
    for entry, other in zip(known, found, strict=False):
        if abs(entry.logprob - other.logprob) > DRIFT - entry.logprob / 20:
            yield Finding(f"/{name}{other.where}/logprob", f"{entry.logprob}", f"{other.logprob}")
