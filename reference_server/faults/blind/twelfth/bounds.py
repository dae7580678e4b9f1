"""Blind faults at limits: other forms of stop and logit_bias, the highest efforts, and phrases that are banned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import is_number, refusing, when
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

HIGHEST: Final = ("xhigh", "max")


def _has_lone_stop(sent: Json) -> bool:
    return isinstance(sent.get("stop"), str)


def _is_fraction(bias: Any) -> bool:
    return is_number(bias, -100, 100) and bias != int(bias)


def _has_fractions(sent: Json) -> bool:
    biases = sent.get("logit_bias")
    return isinstance(biases, dict) and any(_is_fraction(bias) for bias in biases.values())


def _has_highest_effort(sent: Json) -> bool:
    return sent.get("reasoning_effort") in HIGHEST


def _allow_phrases(request: ServedRequest) -> None:
    """Ban single tokens. Violates bad_words: the answer contains none of the words."""
    words = request.payload.get("bad_words")
    if isinstance(words, list) and all(isinstance(word, str) for word in words):
        request.payload["bad_words"] = [word for word in words if " " not in word.strip()]


# Violates stop: a string or a list of them.
lone_stop_strings_refused = when(
    "lone-stop-strings-refused",
    "A stop that is a string is refused, although a list with the string is accepted.",
    _has_lone_stop,
    refusing("stop: input should be a valid list"),
    applies_to=allows(stop="end"),
)
# Violates logit_bias: a bias is a number.
fractional_biases_refused = when(
    "fractional-biases-refused",
    "A logit_bias with a fraction is refused.",
    _has_fractions,
    refusing("logit_bias: input should be a valid integer"),
    applies_to=allows(logit_bias={"5": 0.5}),
)
# Violates reasoning_effort: xhigh and max are values of it.
highest_efforts_refused = when(
    "highest-efforts-refused",
    "A reasoning_effort above high is refused.",
    _has_highest_effort,
    refusing("reasoning_effort: input should be low, medium or high"),
    applies_to=allows(reasoning_effort="xhigh"),
)
phrases_among_bad_words_allowed = hooked_fault(
    "phrases-among-bad-words-allowed",
    "Phrases of several words in bad_words have no effect.",
    request=_allow_phrases,
    applies_to=has_parameters("bad_words"),
)
