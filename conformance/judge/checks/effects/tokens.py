"""Checks of parameters that favour, allow, forbid or require tokens, or limit how many an answer has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, NotObserved, check, relation
from conformance.judge.applicability import in_scenario, why_unanswered
from conformance.judge.checks.effects.beside import find_unchanged
from conformance.judge.logprob_entries import entries_by_choice
from conformance.judge.round_texts import differs_from_base, repeats_itself, require_length, text_of
from conformance.judge.rounds import trial
from conformance.judge.token_counts import completion_count
from conformance.statistics import AT_SIGHT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.check import Round
    from conformance.exchange import Exchange
    from conformance.judge.logprob_entries import LogprobEntry

BIASES = "effects-of-biases"
SHORT = 8  # characters; longer texts have several tokens
CLEAR = 2.0  # far more than the rounding error of a logit
LEAST = -1000.0  # some servers report one lower value for all unlikely tokens


@check("effects.min-tokens-reached", on=in_scenario("min-tokens"))
def answer_has_at_least_min_tokens(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Each choice has at least min_tokens tokens, although the model would end it sooner."""
    if reason := why_unanswered(exchange):
        raise NotObserved(reason)
    asked, found = exchange.request_json["min_tokens"] * len(exchange.choices), completion_count(exchange)
    if found < asked:
        yield Finding("/usage/completion_tokens", f"at least {asked}", f"{found}")


@check("effects.newer-limit-kept", on=in_scenario("newer-limit", "limited*"))
def max_completion_tokens_limits_the_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """max_completion_tokens limits each choice as max_tokens does, and the answer then ends with "length"."""
    if reason := why_unanswered(exchange):
        raise NotObserved(reason)
    limit, found = exchange.request_json["max_completion_tokens"] * len(exchange.choices), completion_count(exchange)
    if found > limit:
        yield Finding("/usage/completion_tokens", f"at most {limit}", f"{found}")
    elif exchange.finish_reason() == "stop" and found == limit:
        raise NotExercised("the answer may have ended by itself")


@trial(
    "effects.logit-bias-heeded",
    scenario=BIASES,
    parts=("base", "biased"),
    test=AT_SIGHT,
    expected="another text than without it, which repeats one token",
)
def logit_bias_of_100_makes_one_token_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A logit_bias of 100 for one token makes the answer consist of it: the answer repeats it, and is another one."""
    differs = differs_from_base(round_, "biased")
    text = "".join(text_of(round_, "biased").split())
    return differs and (repeats_itself(text) or len(text) < SHORT)


@trial(
    "effects.bans-heeded",
    scenario=BIASES,
    parts=("base", "banned"),
    test=AT_SIGHT,
    expected="another text than without it",
)
def bans_change_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """With a logit_bias of -100 for the most frequent tokens the text is not the same: none of them is chosen.

    Vocabularies number special tokens, bytes and their most frequent tokens first, so every story contains some of the
    first 1,536. A server may refuse a list of this length.
    """
    return differs_from_base(round_, "banned")


@trial(
    "effects.moderate-bias-heeded",
    scenario=BIASES,
    parts=("base", "discouraged"),
    test=AT_SIGHT,
    expected="another text than without it",
)
def moderate_biases_change_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """With a logit_bias of -12 for the most frequent tokens the text is not the same: in a story some other token is
    less than 12 behind one of them, which makes it 160,000 times less likely.
    """
    return differs_from_base(round_, "discouraged")


@relation("effects.logit-bias-whole", over=("unbiased", "leaning"))
def bias_is_added_as_it_is(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A logit_bias is added in full: at temperature 0 no other token has a clearly greater sum of logit and bias than
    the chosen one.

    Judged only if log-probabilities are computed without the bias, that is, if those of the first token are the same
    with and without it.
    """
    if any(400 <= (exchange.status or 0) < 500 for exchange in exchanges.values()):
        raise NotExercised("the number of biases or alternatives is refused")
    entries = {}
    for name, exchange in exchanges.items():
        if reason := why_unanswered(exchange):
            raise NotObserved(reason)
        entries[name] = entries_by_choice(exchange).get(0, [])
    sent: Any = exchanges["leaning"].request_json
    added = {f"token_id:{token}": bias for token, bias in sent["logit_bias"].items()}
    _require_unbiased_logprobs(entries["unbiased"], entries["leaning"], set(added))
    for entry in entries["leaning"]:
        chosen = entry.logprob + added.get(entry.token, 0.0)
        for other in entry.top:
            if other.logprob > LEAST and other.logprob + added.get(other.token, 0.0) > chosen + CLEAR:
                got = f"{entry.token} at {entry.logprob:.1f}, ahead of {other.token} at {other.logprob:.1f}"
                yield Finding(entry.where, "the token with the greatest sum of logit and bias", got)
                return


def _require_unbiased_logprobs(plain: list[LogprobEntry], biased: list[LogprobEntry], favoured: set[str]) -> None:
    """Raise NotExercised unless the alternatives of the first token, favoured and others, have the same
    log-probabilities.
    """
    if not plain or not biased:
        raise NotExercised("the answer has no log-probabilities")
    before, after = ({item.token: item.logprob for item in entries[0].top} for entries in (plain, biased))
    both = before.keys() & after.keys()
    if not both & favoured or not both - favoured:
        raise NotExercised("the alternatives do not show whether the bias is included in log-probabilities")
    if any(not abs(before[token] - after[token]) < CLEAR / 2 for token in both):
        raise NotExercised("log-probabilities include the bias, or do not repeat")


@relation("effects.allowed-token-ids-heeded", over=("base", "confined"), unmet=why_unanswered)
def one_allowed_token_changes_the_text(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """If a single token is allowed the answer consists of it, so the answer differs from the greedy one."""
    base, text = (exchanges[name].content() or "" for name in ("base", "confined"))
    require_length(base)
    if text == base:
        yield Finding("/choices/0/message/content", "another text than without it", repr(text)[:200])


@relation("effects.stop-token-ids-heeded", over=("base", "halted"))
def listed_tokens_end_the_answer(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer ends at the first of the listed tokens: with 4,096 tokens listed the text is not the same.

    Vocabularies number their most frequent tokens first, so every story contains some of them. A server may refuse such
    a long list.
    """
    yield from _find_unhalted(exchanges["base"], exchanges["halted"])


@relation("effects.stop-token-ids-beside-others", over=("base", "halted-beside"))
def listed_tokens_end_each_choice_beside_others(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Each choice of a stream next to many other parameters ends at the first of the listed tokens as well.

    Reported if a choice is, up to its limit, exactly the greedy answer without the list.
    """
    yield from _find_unhalted(exchanges["base"], exchanges["halted-beside"])


def _find_unhalted(base: Exchange, halted: Exchange) -> Iterator[Finding]:
    """Yield a finding for the first choice that the listed tokens did not end."""
    if halted.status is not None and 400 <= halted.status < 500:
        raise NotExercised("a list of 4,096 tokens is refused")
    if reason := why_unanswered(base) or why_unanswered(halted):
        raise NotObserved(reason)
    text = base.content() or ""
    require_length(text)
    if (at := find_unchanged(text, halted)) is not None:
        where = f"/{halted.step}/choices/{at}/message/content"
        yield Finding(where, "a shorter text than without it", repr(halted.choices[at].content)[:200])


@relation("effects.bad-words-not-said", over=("base", "censored"), unmet=why_unanswered)
def bad_words_are_not_said(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A word that bad_words lists, and that the greedy answer has, is not in the answer."""
    sent: Any = exchanges["censored"].request_json
    base, text = (exchanges[name].content() or "" for name in ("base", "censored"))
    banned = [word for word in sent["bad_words"] if word in base]
    if not banned:
        raise NotExercised("the answer has none of the words")
    for word in banned:
        if word in text:
            yield Finding("/choices/0/message/content", f"no {word!r}", repr(text)[:200])


@relation("effects.special-tokens-skipped", over=("ended", "skipped", "kept"), unmet=why_unanswered)
def special_tokens_are_skipped_or_kept(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer that continues after its end shows the token that ends it only with skip_special_tokens false."""
    ended, skipped, kept = (exchanges[name].content() or "" for name in ("ended", "skipped", "kept"))
    first, second = (completion_count(exchanges[name]) for name in ("ended", "skipped"))
    if exchanges["ended"].finish_reason() != "stop" or second <= first or not skipped.startswith(ended):
        raise NotExercised("no answer continues after its end, or greedy answers of this server do not repeat")
    if not kept.startswith(ended):
        raise NotExercised("greedy answers of this server do not repeat")
    if skipped == kept:
        where = "/kept/choices/0/message/content"
        yield Finding(where, f"a special token after {ended!r}"[:200], repr(kept[len(ended) :])[:200])
    elif len(skipped) > len(kept):
        where = "/skipped/choices/0/message/content"
        yield Finding(where, "no special token", repr(skipped[len(ended) :])[:200])
