"""Vocabulary: tokens and words that a request favours, allows, forbids, or ends at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NoOccasion, NotObserved, relation
from conformance.checks.effects import changed, long_enough
from conformance.occasion import unsuccessful
from conformance.rounds import trial

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.check import Round
    from conformance.exchange import Exchange

BIASES = "effects-of-biases"


@trial("effects.logit-bias-heeded", scenario=BIASES, parts=("base", "biased"), expected="another text than without it")
def logit_bias_of_100_changes_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A logit_bias of 100 for one token makes the answer consist of it, so it is no longer the unbiased one."""
    return changed(round_, "biased")


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
