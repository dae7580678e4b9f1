"""Checks of the values of log-probabilities: whether they are probabilities, and those of the tokens next to them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from conformance.check import Context, Finding, NotExercised, check, relation
from conformance.judge.applicability import not_generated, why_unanswered
from conformance.judge.checks.logprobs.entries import REQUESTED, ROUNDING
from conformance.judge.evidence.answer_difference import NEAR_TIE
from conformance.judge.evidence.run_answers import require_answers
from conformance.judge.logprob_entries import LogprobEntry, all_entries, entries_by_choice, first_entries
from openapi.contract.contract import ABSENT
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange
    from openapi.contract.contract import Contract

NEUTRAL_PENALTIES: Final = {"presence_penalty": 0, "frequency_penalty": 0, "repetition_penalty": 1}

TIE = 0.1  # tokens with a smaller difference count as equally likely
DRIFT = 0.3  # allowed difference between two runs: steps of bfloat16 logits are an eighth or a quarter
WITHIN = math.exp(1 / 16)  # half a step of bfloat16 between 16 and 32, where the logits of likely tokens are
SEVERAL = 4  # tokens; fewer may agree by chance
CHANGING: Mapping[str, float | None] = {
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "repetition_penalty": 1,
    "best_of": 1,
    "min_tokens": 0,
    **dict.fromkeys(("logit_bias", "response_format", "structured_outputs", "tools", "use_beam_search")),
    **dict.fromkeys(("allowed_token_ids", "bad_words")),
}
"""Parameters with which the chosen token may differ from the likeliest one, with the number that has no effect."""
LEAST = -1000.0  # some servers report one lower value for all unlikely tokens


@check("logprobs.not-positive", on=REQUESTED)
def log_probabilities_are_finite_and_not_positive(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every log-probability, of a token or of an alternative, is finite and at most 0."""
    for entry in all_entries(exchange):
        for item in (entry, *entry.top):
            if not item.logprob <= ROUNDING or math.isinf(item.logprob):
                yield Finding(f"{item.where}/logprob", "a number of at most 0", repr(item.fields.get("logprob"))[:80])


@check("logprobs.within-one", on=REQUESTED)
def probabilities_add_up_to_one_at_most(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The probabilities of an entry's alternatives add up to at most 1, computed in bfloat16 or better."""
    for entry in all_entries(exchange):
        total = sum(math.exp(min(item.logprob, 1.0)) for item in entry.top if not math.isnan(item.logprob))
        if total > WITHIN:
            yield Finding(f"{entry.where}/top_logprobs", "at most 1 in total", f"{total:.4f}")


@check("logprobs.chosen-as-listed", on=REQUESTED)
def chosen_token_is_told_as_among_the_alternatives(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A chosen token that is also one of its alternatives has the same log-probability there."""
    seen = False
    for entry in all_entries(exchange):
        for item in entry.top:
            same = item.token == entry.token and item.fields.get("bytes") == entry.fields.get("bytes")
            if same and item.identifies_token:
                seen = True
                if abs(item.logprob - entry.logprob) > ROUNDING:
                    yield Finding(f"{item.where}/logprob", f"{entry.logprob}", f"{item.logprob}")
    if not seen:
        raise NotExercised("no chosen token is listed among its alternatives")


@check("logprobs.greedy-token-is-likeliest", on=REQUESTED)
def greedy_choice_is_the_likeliest_token(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """At temperature 0 no alternative is more likely than the chosen token.

    A single near tie in an answer is not reported: a server may compute log-probabilities once more, and round
    differently.
    """
    _require_greedy_choice(exchange, context.contract)
    found = []
    for entry in all_entries(exchange):
        best = max((item.logprob for item in entry.top), default=-math.inf)
        if best > entry.logprob + TIE:
            found.append((best, entry))
    if len(found) > 1 or any(best > entry.logprob + NEAR_TIE for best, entry in found):
        for best, entry in found:
            yield Finding(f"{entry.where}/logprob", f"at least {best}", f"{entry.logprob}")


@check("logprobs.greedy-token-is-listed", on=REQUESTED)
def greedy_choice_stands_among_the_alternatives(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """At temperature 0 the chosen tokens are among their alternatives: each entry belongs to its token.

    Reported if most of them are not: a few may be written differently there, or be one of many equally likely tokens.
    """
    _require_greedy_choice(exchange, context.contract)
    for index, entries in entries_by_choice(exchange).items():
        complete = [entry for entry in entries if entry.top and entry.identifies_token]
        listed = [entry for entry in complete if any(_is_same(item, entry) for item in entry.top)]
        if len(complete) < SEVERAL:
            raise NotExercised("too few tokens have alternatives")
        if 2 * len(listed) < len(complete):
            yield Finding(
                f"/choices/{index}/logprobs/content",
                f"{format_quantity(len(complete), 'token')} listed",
                f"{len(listed)} of them",
            )


def _require_greedy_choice(exchange: Exchange, contract: Contract) -> None:
    """Raise NotExercised unless the chosen token is the one that the model considers likeliest."""
    sent: Any = exchange.request_json
    defaults = {name: item.default for name, item in contract.parameters.items() if item.default is not ABSENT}
    in_effect = {name: value for name, value in {**defaults, **sent}.items() if name in CHANGING}
    if sent.get("temperature") != 0 or any(value and value != CHANGING[name] for name, value in in_effect.items()):
        raise NotExercised("the chosen token may differ from the likeliest one")


def _is_same(one: LogprobEntry, other: LogprobEntry) -> bool:
    return one.token == other.token or (one.data is not None and one.data == other.data)


@check("logprobs.numbers-vary", on=not_generated(REQUESTED))
def numbers_are_not_all_the_same(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Different tokens do not all have the same log-probability, unless all are certain."""
    by_choice = entries_by_choice(exchange)
    varied = {
        index: entries
        for index, entries in by_choice.items()
        if len({entry.token for entry in entries}) >= SEVERAL and not math.isnan(entries[0].logprob)
    }
    if not varied:
        raise NotExercised("too few different tokens")
    for index, entries in varied.items():
        values = {entry.logprob for entry in entries}
        if len(values) == 1 and LEAST < entries[0].logprob < -ROUNDING:
            yield Finding(f"/choices/{index}/logprobs/content", "different values", f"{entries[0].logprob} for all")


@relation("logprobs.streamed-as-plain", over=("told", "told-streamed"), unmet=why_unanswered)
def streamed_entries_are_the_plain_ones(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request has the same entries, streamed and plain."""
    plain, streamed = exchanges["told"], exchanges["told-streamed"]
    if plain.content() != streamed.content():
        raise NotExercised("the greedy answer did not repeat")
    first, second = (first_entries(exchange) for exchange in (plain, streamed))
    tokens, others = ([entry.token for entry in entries] for entries in (first, second))
    if tokens != others:
        yield Finding("/choices/0/logprobs/content", repr(tokens)[:200], repr(others)[:200])
        return
    yield from _compare_values(first, second, "told-streamed")


@relation("logprobs.cut-as-whole", over=("told", "alone", "bare"), unmet=why_unanswered)
def entries_of_a_cut_answer_are_those_of_the_whole(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A greedy answer that is cut off has the log-probabilities of the whole one, up to its last token."""
    whole = first_entries(exchanges["told"])
    for name in ("alone", "bare"):
        cut = first_entries(exchanges[name])
        if [entry.token for entry in cut] != [entry.token for entry in whole[: len(cut)]]:
            raise NotExercised("the greedy answer did not repeat")
        yield from _compare_values(whole, cut, name)


@relation("logprobs.told-by-what-came-before", over=("sampled", "sampled-again"), unmet=why_unanswered)
def numbers_depend_on_what_came_before_alone(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """As far as two sampled answers to one request agree, their tokens have the same log-probabilities.

    The text that follows a token is not known when the token is sampled, and does not change its log-probability.
    """
    first, second = (first_entries(exchanges[name]) for name in ("sampled", "sampled-again"))
    pairs = enumerate(zip(first, second, strict=False))
    same = next((at for at, (one, other) in pairs if one.token != other.token), min(len(first), len(second)))
    if not same:
        raise NotExercised("the answers begin differently")
    yield from _compare_values(first[:same], second[:same], "sampled-again")


def _compare_values(known: list[LogprobEntry], others: list[LogprobEntry], name: str) -> Iterator[Finding]:
    """Yield a finding for each clear difference between two runs. The less likely a token, the more its value depends
    on rounding.
    """
    for entry, other in zip(known, others, strict=False):
        if abs(entry.logprob - other.logprob) > DRIFT - entry.logprob / 20:
            yield Finding(f"/{name}{other.where}/logprob", f"{entry.logprob}", f"{other.logprob}")


@check("logprobs.same-everywhere", on=not_generated(REQUESTED))
def a_token_has_the_same_number_everywhere(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A token has the log-probability that it has after the same tokens in the other answers of the run, streamed and
    plain.

    Requests with penalties, or with another temperature or narrowing, are not compared: a server may compute them in.
    """
    entries_by_choice(exchange)
    sent: Any = exchange.request_json
    if any(sent.get(name) not in (None, neutral) for name, neutral in NEUTRAL_PENALTIES.items()):
        raise NotExercised("penalties may be part of the numbers")
    numbers = require_answers(context).numbers.get(exchange.id)
    if numbers is None:
        raise NotExercised("no other answer has the same tokens")
    for number in numbers:
        expected = f"{number.usual:.4f}, as after the same tokens in other answers"
        yield Finding(f"{number.where}/logprob", expected, f"{number.found:.4f}")
