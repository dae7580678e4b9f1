"""TODO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NoOccasion, NotObserved, check, relation
from conformance.judge.applicability import scenario, unsuccessful
from conformance.judge.logprob_entries import entries
from conformance.judge.round_texts import changed, long_enough
from conformance.judge.rounds import trial
from conformance.judge.token_counts import completion_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.check import Round
    from conformance.exchange import Exchange
    from conformance.judge.logprob_entries import Entry

BIASES = "effects-of-biases"

CLEAR = 2.0  # far more than rounding makes of a logit

LEAST = -1000.0  # below it stands what is told of any unlikely token alike


@check("effects.min-tokens-reached", on=scenario("min-tokens"))
def answer_has_at_least_min_tokens(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer counts at least min_tokens, though the model would end it sooner."""
    if lack := unsuccessful(exchange):
        raise NotObserved(lack)
    asked, found = exchange.request_json["min_tokens"], completion_of(exchange)
    if found < asked:
        yield Finding("/usage/completion_tokens", f"at least {asked}", f"{found}")


@check("effects.newer-limit-kept", on=scenario("newer-limit", "limited*"))
def max_completion_tokens_limits_the_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """max_completion_tokens limits the answer as max_tokens does, and cuts it off with "length"."""
    if lack := unsuccessful(exchange):
        raise NotObserved(lack)
    limit, found = exchange.request_json["max_completion_tokens"], completion_of(exchange)
    if found > limit:
        yield Finding("/usage/completion_tokens", f"at most {limit}", f"{found}")
    elif exchange.finish_reason() == "stop" and found == limit:
        raise NoOccasion("the answer may have ended by itself")


@trial("effects.logit-bias-heeded", scenario=BIASES, parts=("base", "biased"), expected="another text than without it")
def logit_bias_of_100_changes_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A logit_bias of 100 for one token makes the answer consist of it, so it is no longer the unbiased one."""
    return changed(round_, "biased")


@relation("effects.logit-bias-whole", over=("unbiased", "leaning"), lacks=lambda _: None)
def bias_is_added_as_it_is(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A logit_bias is added as it is: no token would lie clearly before the chosen one if it were.

    Judged where log-probabilities are told from before the bias, as those of the first token show: they are the same
    with it and without. At temperature 0 the chosen token then has the greatest sum of the two.
    """
    if any(400 <= (each.status or 0) < 500 for each in exchanges.values()):
        raise NoOccasion("so many biases or alternatives are refused")
    told = {}
    for name, exchange in exchanges.items():
        if lack := unsuccessful(exchange):
            raise NotObserved(lack)
        told[name] = entries(exchange).get(0, [])
    sent: Any = exchanges["leaning"].request_json
    added = {f"token_id:{token}": bias for token, bias in sent["logit_bias"].items()}
    _look_for_numbers_before_the_bias(told["unbiased"], told["leaning"], set(added))
    for entry in told["leaning"]:
        chosen = entry.logprob + added.get(entry.token, 0.0)
        for each in entry.top:
            if each.logprob > LEAST and each.logprob + added.get(each.token, 0.0) > chosen + CLEAR:
                got = f"{entry.token} at {entry.logprob:.1f}, before {each.token} at {each.logprob:.1f}"
                yield Finding(entry.where, "the token of the greatest sum of logit and bias", got)
                return


def _look_for_numbers_before_the_bias(plain: list[Entry], biased: list[Entry], favoured: set[str]) -> None:
    """Raises NoOccasion unless the first token's alternatives, favoured ones and others, have the same numbers."""
    if not plain or not biased:
        raise NoOccasion("no log-probabilities are told")
    before, after = ({each.token: each.logprob for each in told[0].top} for told in (plain, biased))
    both = before.keys() & after.keys()
    if not both & favoured or not both - favoured:
        raise NoOccasion("the alternatives do not show whether the bias is in their numbers")
    if any(not abs(before[token] - after[token]) < CLEAR / 2 for token in both):
        raise NoOccasion("the bias is in the numbers, or they do not repeat")


@relation("effects.allowed-token-ids-heeded", over=("base", "confined"), lacks=unsuccessful)
def one_allowed_token_changes_the_text(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Where a single token is allowed the answer consists of it, so it is no longer the greedy one."""
    base, text = (exchanges[name].content() or "" for name in ("base", "confined"))
    long_enough(base)
    if text == base:
        yield Finding("/choices/0/message/content", "another text than without it", repr(text)[:200])


@relation("effects.stop-token-ids-heeded", over=("base", "halted"), lacks=lambda _: None)
def listed_tokens_end_the_answer(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer ends at the first of the listed tokens: the same text does not come with 4,096 of them listed.

    Vocabularies number their most frequent tokens first, so that no story does without these. A server that refuses so
    long a list is not blamed.
    """
    base, halted = exchanges["base"], exchanges["halted"]
    if halted.status is not None and 400 <= halted.status < 500:
        raise NoOccasion("so long a list of tokens is refused")
    if lack := unsuccessful(base) or unsuccessful(halted):
        raise NotObserved(lack)
    long_enough(base.content() or "")
    if halted.content() == base.content():
        yield Finding("/choices/0/message/content", "less than without it", repr(halted.content())[:200])


@relation("effects.bad-words-not-said", over=("base", "censored"), lacks=unsuccessful)
def bad_words_are_not_said(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A word that bad_words names, and that the greedy answer holds, is not in the answer."""
    sent: Any = exchanges["censored"].request_json
    base, text = (exchanges[name].content() or "" for name in ("base", "censored"))
    said = [word for word in sent["bad_words"] if word in base]
    if not said:
        raise NoOccasion("the answer holds none of the words")
    for word in said:
        if word in text:
            yield Finding("/choices/0/message/content", f"no {word!r}", repr(text)[:200])
