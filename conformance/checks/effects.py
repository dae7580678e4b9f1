"""Effects of parameters: honoured, or silently ignored, by what many answers show together.

One answer shows no tendency, so rounds of requests are sent until the odds are plain; `statistics.py` states them. Who
refuses a parameter honestly has no round to judge, and a model that is too sure of its answer shows nothing: neither
is blamed.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NoOccasion, NotObserved, check, relation
from conformance.checks.finish import completion_of
from conformance.occasion import scenario, unsuccessful
from conformance.rounds import trial
from conformance.statistics import AT_SIGHT, TENDENCY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.check import Round
    from conformance.exchange import Exchange

SAMPLING, PENALTIES, BIASES = "effects-of-sampling", "effects-of-penalties", "effects-of-biases"
MUCH = 12  # of repetition: two words five times each
FEW_CHARACTERS = 12  # in shorter answers chance alone makes texts equal
CLEARLY = 0.05  # of the triples of a text: by how much more they are repeated where it is hardly chance


def _text(round_: Round, part: str) -> str:
    return round_[part].content() or ""


def _long_enough(text: str) -> None:
    if len(text) < FEW_CHARACTERS:
        raise NoOccasion("the answer is too short to show anything")


def _is_new(round_: Round, earlier: Sequence[Round], part: str) -> bool | None:
    """Whether no earlier round said the same; None in the first one, and where the text is the greedy one."""
    greedy, found = _text(round_, "greedy"), _text(round_, part)
    _long_enough(greedy)
    return None if not earlier or found == greedy else found not in {_text(each, part) for each in earlier}


def _is_likeliest(round_: Round, earlier: Sequence[Round], part: str) -> bool:
    """Whether the text is the greedy one, or, where greedy answers waver, one that came before."""
    return _text(round_, part) in {_text(round_, "greedy"), *(_text(each, part) for each in earlier)}


@trial(
    "effects.temperature-varies",
    scenario=SAMPLING,
    parts=("greedy", "hot"),
    expected="another text than the greedy one",
)
def high_temperature_leaves_the_greedy_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """At temperature 2 answers differ from the greedy one.

    A language model gives its likeliest word so little weight there that a whole answer hardly ever stays the same.
    """
    _long_enough(_text(round_, "greedy"))
    return _text(round_, "hot") != _text(round_, "greedy")


@trial("effects.unseeded-answers-differ", scenario=SAMPLING, parts=("greedy", "hot"), expected="a text not seen before")
def answers_without_a_seed_differ(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """Without a seed the same sampled request gives other texts: the seed is random."""
    return _is_new(round_, earlier, "hot")


@trial("effects.seeds-differ", scenario=SAMPLING, parts=("greedy", "seeded"), expected="a text not seen before")
def other_seeds_give_other_texts(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """Every seed gives another text, at a temperature at which texts vary."""
    return _is_new(round_, earlier, "seeded")


@trial(
    "effects.seed-repeats",
    scenario=SAMPLING,
    parts=("greedy", "seeded", "seeded-again"),
    expected="the same text twice",
)
def same_seed_gives_the_same_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """The same request with the same seed gives the same text, at a temperature at which texts vary."""
    if _text(round_, "seeded") == _text(round_, "greedy"):
        return None
    return _text(round_, "seeded") == _text(round_, "seeded-again")


@trial(
    "effects.seeds-read-whole",
    scenario=SAMPLING,
    parts=("greedy", "seeded", "seeded-far"),
    test=AT_SIGHT,
    expected="another text than that of the seed less 2**32",
)
def seeds_that_differ_beyond_32_bits_differ(round_: Round, _: Sequence[Round]) -> bool | None:
    """Two seeds with the same lowest 32 bits do not always give the same text: all of a seed is read."""
    greedy, seeded, far = (_text(round_, part) for part in ("greedy", "seeded", "seeded-far"))
    _long_enough(greedy)
    return None if len(seeded) < FEW_CHARACTERS or seeded == greedy else far != seeded


@trial("effects.top-p-narrows", scenario=SAMPLING, parts=("greedy", "narrow"), expected="the likeliest text")
def tiny_top_p_leaves_the_likeliest(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """With a top_p near 0 only the likeliest token is left, whatever the temperature."""
    return _is_likeliest(round_, earlier, "narrow")


@trial("effects.top-k-one-is-greedy", scenario=SAMPLING, parts=("greedy", "top-one"), expected="the likeliest text")
def top_k_of_one_leaves_the_likeliest(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """With top_k 1 only the likeliest token is left, whatever the temperature."""
    return _is_likeliest(round_, earlier, "top-one")


@trial("effects.min-p-narrows", scenario=SAMPLING, parts=("greedy", "min-p"), expected="the likeliest text")
def min_p_of_one_leaves_the_likeliest(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """With min_p 1 only tokens as likely as the likeliest are left, whatever the temperature."""
    return _is_likeliest(round_, earlier, "min-p")


def _changed(round_: Round, part: str) -> bool | None:
    """Whether the text is another than without it; None where the model is sure of it whatever the seed."""
    base = _text(round_, "base")
    sure = "other" in round_ and _text(round_, "other") == base
    return None if len(base) < FEW_CHARACTERS or sure else _text(round_, part) != base


@trial(
    "effects.penalties-differ",
    scenario=PENALTIES,
    parts=("long-base", "long-present", "long-frequent"),
    test=AT_SIGHT,
    expected="another text with frequency_penalty than with presence_penalty",
)
def presence_counts_once_and_frequency_each_time(round_: Round, _: Sequence[Round]) -> bool | None:
    """presence_penalty does not grow with each repetition, as frequency_penalty does: the same value of both does not
    always draw the same text.

    Looked at are texts whose words come so often that the one penalty is, many times over, a multiple of the other:
    with presence_penalty, or without any, for a penalty that grows leaves few repetitions.
    """
    base, present, frequent = (_text(round_, part) for part in ("long-base", "long-present", "long-frequent"))
    few = _excess(base) < MUCH and _excess(present) < MUCH // 2
    return None if present == base or few else frequent != present


def _excess(text: str) -> int:
    """How many times over the second penalty is greater than the first, summed over all words that were drawn.

    A word's third time counts 1, its fourth 2; where words are not apart, characters stand for them.
    """
    words = re.findall(r"(?<=\s)[^\W\d_]+|[,.]|[\u3040-\u9fff\uac00-\ud7af]", text)
    return sum((number - 1) * (number - 2) // 2 for number in Counter(words).values())


def _no_more_repeats(round_: Round, part: str) -> bool | None:
    """Whether a text is not clearly more repetitive; None where the text stays as it was."""
    base, found = (_repeats(_text(round_, each)) for each in ("base", part))
    return found <= base + CLEARLY if _changed(round_, part) else None


def _repeats(text: str) -> float:
    """The share of triples of characters that were said before: finer than words, and for text without spaces too."""
    triples = [text[at : at + 3] for at in range(len(text) - 2)]
    return 1 - len(set(triples)) / len(triples) if triples else 0.0


@trial(
    "effects.presence-penalty-heeded",
    scenario=PENALTIES,
    parts=("base", "other", "present"),
    expected="another text than without it",
)
def presence_penalty_changes_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A presence_penalty of 2 changes what one seed draws at a high temperature."""
    return _changed(round_, "present")


@trial(
    "effects.frequency-penalty-heeded",
    scenario=PENALTIES,
    parts=("base", "other", "frequent"),
    expected="another text than without it",
)
def frequency_penalty_changes_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A frequency_penalty of 2 changes what one seed draws at a high temperature."""
    return _changed(round_, "frequent")


@trial(
    "effects.repetition-penalty-heeded",
    scenario=PENALTIES,
    parts=("base", "other", "repeated"),
    expected="another text than without it",
)
def repetition_penalty_changes_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A repetition_penalty of 2 changes what one seed draws at a high temperature."""
    return _changed(round_, "repeated")


@trial(
    "effects.presence-penalty-sign",
    test=TENDENCY,
    scenario=PENALTIES,
    parts=("base", "other", "present"),
    expected="no clearly more repetitive text",
)
def presence_penalty_reduces_repetition(round_: Round, _: Sequence[Round]) -> bool | None:
    """A positive presence_penalty does not have clearly more of the text repeated."""
    return _no_more_repeats(round_, "present")


@trial(
    "effects.frequency-penalty-sign",
    test=TENDENCY,
    scenario=PENALTIES,
    parts=("base", "other", "frequent"),
    expected="no clearly more repetitive text",
)
def frequency_penalty_reduces_repetition(round_: Round, _: Sequence[Round]) -> bool | None:
    """A positive frequency_penalty does not have clearly more of the text repeated."""
    return _no_more_repeats(round_, "frequent")


@trial(
    "effects.repetition-penalty-sign",
    test=TENDENCY,
    scenario=PENALTIES,
    parts=("base", "other", "repeated"),
    expected="no clearly more repetitive text",
)
def repetition_penalty_reduces_repetition(round_: Round, _: Sequence[Round]) -> bool | None:
    """A repetition_penalty above 1 does not have clearly more of the text repeated."""
    return _no_more_repeats(round_, "repeated")


@trial("effects.logit-bias-heeded", scenario=BIASES, parts=("base", "biased"), expected="another text than without it")
def logit_bias_of_100_changes_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A logit_bias of 100 for one token makes the answer consist of it, so it is no longer the unbiased one."""
    return _changed(round_, "biased")


@relation("effects.allowed-token-ids-heeded", over=("base", "confined"), lacks=unsuccessful)
def one_allowed_token_changes_the_text(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Where a single token is allowed the answer consists of it, so it is no longer the greedy one."""
    base, text = (exchanges[name].content() or "" for name in ("base", "confined"))
    _long_enough(base)
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
    _long_enough(base.content() or "")
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


@trial(
    "effects.negative-penalty-heeded",
    scenario=PENALTIES,
    parts=("base", "other", "rewarded"),
    expected="another text than without it",
)
def negative_penalty_changes_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A frequency_penalty below 0 changes what is drawn, in streams too: penalties are read on both sides of 0."""
    return _changed(round_, "rewarded")
