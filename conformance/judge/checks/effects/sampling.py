"""Checks of temperature, top_p, top_k and min_p."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import NotExercised
from conformance.judge.evidence.model import chance_of_repeating, repeats_when_hot
from conformance.judge.round_texts import equals_greedy, require_length, text_of
from conformance.judge.rounds import trial
from conformance.statistics import AT_SIGHT, NO_PATTERN, SAME_ANSWER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.check import Round

SAMPLING = "effects-of-sampling"


def is_likeliest(round_: Round, earlier: Sequence[Round], part: str) -> bool:
    """Tell whether the text is the greedy one, or equals an earlier text if greedy answers vary."""
    return equals_greedy(round_, part) or text_of(round_, part) in {text_of(other, part) for other in earlier}


@trial(
    "effects.temperature-varies",
    scenario=SAMPLING,
    parts=("greedy", "hot"),
    expected="another text than the greedy one",
)
def high_temperature_leaves_the_greedy_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """At temperature 2 answers differ from the greedy one.

    At this temperature the likeliest token has so little weight that a whole answer is hardly ever the greedy one. Not
    judged if the log-probabilities of the greedy answer, where a server returns them, show that the model is certain.
    """
    return leaves_greedy(round_, "hot")


@trial(
    "effects.top-p-narrows",
    scenario=SAMPLING,
    parts=("greedy", "narrow"),
    test=SAME_ANSWER,
    expected="the likeliest text",
)
def tiny_top_p_leaves_the_likeliest(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """With a top_p near 0 only the likeliest token remains, whatever the temperature is."""
    return is_likeliest(round_, earlier, "narrow")


@trial(
    "effects.top-k-one-is-greedy",
    scenario=SAMPLING,
    parts=("greedy", "top-one"),
    test=SAME_ANSWER,
    expected="the likeliest text",
)
def top_k_of_one_leaves_the_likeliest(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """With top_k 1 only the likeliest token remains, whatever the temperature is."""
    return is_likeliest(round_, earlier, "top-one")


@trial(
    "effects.min-p-narrows",
    scenario=SAMPLING,
    parts=("greedy", "min-p"),
    test=SAME_ANSWER,
    expected="the likeliest text",
)
def min_p_of_one_leaves_the_likeliest(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """With min_p 1 only tokens as likely as the likeliest one remain, whatever the temperature is."""
    return is_likeliest(round_, earlier, "min-p")


@trial(
    "effects.widest-leaves-all",
    scenario=SAMPLING,
    parts=("greedy", "widest"),
    test=AT_SIGHT,
    expected="another text than the greedy one",
)
def the_widest_values_narrow_nothing(round_: Round, _: Sequence[Round]) -> bool | None:
    """With top_p 1, top_k 1,000, min_p 0 and no penalties, answers at temperature 2 differ from the greedy one."""
    return leaves_greedy(round_, "widest")


@trial(
    "effects.top-k-zero-leaves-all",
    scenario=SAMPLING,
    parts=("greedy", "zero-k"),
    test=AT_SIGHT,
    expected="another text than the greedy one",
)
def top_k_of_zero_narrows_nothing(round_: Round, _: Sequence[Round]) -> bool | None:
    """A top_k of 0 does not leave one token: answers at temperature 2 differ from the greedy one."""
    return leaves_greedy(round_, "zero-k")


MIDDLE = "effects-in-the-middle"
SELDOM = 1 - NO_PATTERN.honoured
"""An answer that equals the greedy one with a smaller probability shows that it was sampled."""


@trial(
    "effects.usual-temperature-varies",
    scenario=MIDDLE,
    parts=("greedy", "warm"),
    test=NO_PATTERN,
    expected="another text than the greedy one",
)
def usual_temperature_leaves_the_greedy_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """At temperature 0.7 answers differ from the greedy one, if log-probabilities show that they seldom equal it."""
    return _leaves_unlikely(round_, "warm", temperature=0.7)


@trial(
    "effects.usual-top-p-varies",
    scenario=MIDDLE,
    parts=("greedy", "wide"),
    test=NO_PATTERN,
    expected="another text than the greedy one",
)
def usual_top_p_leaves_several_tokens(round_: Round, _: Sequence[Round]) -> bool | None:
    """With top_p 0.9 answers differ from the greedy one, if log-probabilities show that they seldom equal it."""
    return _leaves_unlikely(round_, "wide", temperature=1.0, top_p=0.9)


def _leaves_unlikely(round_: Round, part: str, *, temperature: float, top_p: float = 1.0) -> bool:
    """Tell whether an answer differs from the greedy one. Raises NotExercised if it may well be the same."""
    if chance_of_repeating(round_["greedy"], temperature, top_p) > SELDOM:
        raise NotExercised("the model may repeat its greedy answer, or log-probabilities do not show whether it does")
    return text_of(round_, part) != text_of(round_, "greedy")


def leaves_greedy(round_: Round, part: str) -> bool:
    """Tell whether an answer differs from the greedy one. Raises NotExercised if the model allows no other answer."""
    if repeats_when_hot(round_["greedy"]):
        raise NotExercised("the model is so certain that it repeats its greedy answer at any temperature")
    require_length(text_of(round_, "greedy"))
    return not equals_greedy(round_, part)
