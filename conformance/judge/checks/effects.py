"""Effects of parameters: honoured, or silently ignored, by what many answers show together.

One answer shows no tendency, so rounds of requests are sent until the odds are plain; `statistics.py` states them. Who
refuses a parameter honestly has no round to judge, and a model that is too sure of its answer shows nothing: neither
is blamed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NoOccasion, NotObserved, check
from conformance.judge.applicability import scenario, unsuccessful
from conformance.judge.checks.finish import completion_of
from conformance.judge.logprob_entries import CUT
from conformance.judge.rounds import trial
from conformance.statistics import AT_SIGHT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.check import Round
    from conformance.exchange import Exchange

SAMPLING = "effects-of-sampling"
FEW_CHARACTERS = 12  # in shorter answers chance alone makes texts equal


def text_of(round_: Round, part: str) -> str:
    """What was said in that part of a round."""
    return round_[part].content() or ""


def long_enough(text: str) -> None:
    """Raises NoOccasion for a text so short that chance alone makes others equal to it."""
    if len(text) < FEW_CHARACTERS:
        raise NoOccasion("the answer is too short to show anything")


def is_greedy(round_: Round, part: str) -> bool:
    """Whether the text is the greedy one, as far as both go: their limits may differ."""
    short, long = sorted((text_of(round_, "greedy"), text_of(round_, part)), key=len)
    return short == long or (len(short) >= FEW_CHARACTERS and long.startswith(short.rstrip(CUT)))


def _is_new(round_: Round, earlier: Sequence[Round], part: str) -> bool | None:
    """Whether no earlier round said the same; None in the first one, and where the text is the greedy one."""
    long_enough(text_of(round_, "greedy"))
    if not earlier or is_greedy(round_, part):
        return None
    return text_of(round_, part) not in {text_of(each, part) for each in earlier}


def _is_likeliest(round_: Round, earlier: Sequence[Round], part: str) -> bool:
    """Whether the text is the greedy one, or, where greedy answers waver, one that came before."""
    return is_greedy(round_, part) or text_of(round_, part) in {text_of(each, part) for each in earlier}


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
    long_enough(text_of(round_, "greedy"))
    return not is_greedy(round_, "hot")


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
    if is_greedy(round_, "seeded"):
        return None
    return text_of(round_, "seeded") == text_of(round_, "seeded-again")


@trial(
    "effects.seeds-read-whole",
    scenario=SAMPLING,
    parts=("greedy", "seeded", "seeded-far"),
    test=AT_SIGHT,
    expected="another text than that of the seed less 2**32",
)
def seeds_that_differ_beyond_32_bits_differ(round_: Round, _: Sequence[Round]) -> bool | None:
    """Two seeds with the same lowest 32 bits do not always give the same text: all of a seed is read."""
    greedy, seeded, far = (text_of(round_, part) for part in ("greedy", "seeded", "seeded-far"))
    long_enough(greedy)
    return None if len(seeded) < FEW_CHARACTERS or is_greedy(round_, "seeded") else far != seeded


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


def changed(round_: Round, part: str) -> bool | None:
    """Whether the text is another than without it; None where the model is sure of it whatever the seed."""
    base = text_of(round_, "base")
    sure = "other" in round_ and text_of(round_, "other") == base
    return None if len(base) < FEW_CHARACTERS or sure else text_of(round_, part) != base


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
