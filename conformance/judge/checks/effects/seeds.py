"""Checks of `seed`: the same seed gives the same text, and other seeds, or none, vary it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.judge.checks.effects.sampling import SAMPLING
from conformance.judge.round_texts import FEW_CHARACTERS, REQUESTS_IN_TURN, equals_greedy, require_length, text_of
from conformance.judge.rounds import trial
from conformance.statistics import AT_SIGHT, SAME_ANSWER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.check import Round


@trial(
    "effects.seed-not-carried-over",
    scenario=REQUESTS_IN_TURN,
    parts=("drawn", "drawn-again", "unseeded", "drawn-after", "unseeded-after"),
    test=AT_SIGHT,
    expected="different texts for requests without a seed, each sent after the same seed",
)
def seed_is_not_carried_over(round_: Round, _: Sequence[Round]) -> bool | None:
    """Requests without a seed have different answers, although each follows a request with the same seed."""
    first, second = (text_of(round_, name) for name in ("unseeded", "unseeded-after"))
    require_length(first)
    return None if first == text_of(round_, "drawn") else first != second


@trial(
    "effects.null-seed-is-none",
    scenario=SAMPLING,
    parts=("greedy", "null-seeded", "null-seeded-again"),
    test=AT_SIGHT,
    expected="a different text each time",
)
def a_seed_of_null_is_none(round_: Round, _: Sequence[Round]) -> bool | None:
    """A seed of null means no seed: the same sampled request gives a different text each time."""
    greedy, first, second = (text_of(round_, name) for name in ("greedy", "null-seeded", "null-seeded-again"))
    require_length(greedy)
    return None if not first or equals_greedy(round_, "null-seeded") else first != second


def _is_new(round_: Round, earlier: Sequence[Round], part: str) -> bool | None:
    """Tell whether no earlier round gave the same text; None in the first round and if the text is the greedy one."""
    require_length(text_of(round_, "greedy"))
    if not earlier or equals_greedy(round_, part):
        return None
    return text_of(round_, part) not in {text_of(other, part) for other in earlier}


@trial(
    "effects.unseeded-answers-differ",
    scenario=SAMPLING,
    parts=("greedy", "hot"),
    expected="a new text",
)
def answers_without_a_seed_differ(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """Without a seed the same sampled request gives different texts: the seed is random."""
    return _is_new(round_, earlier, "hot")


@trial(
    "effects.seeds-differ",
    scenario=SAMPLING,
    parts=("greedy", "seeded"),
    expected="a new text",
)
def other_seeds_give_other_texts(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """Every seed gives a different text, at a temperature at which texts vary."""
    return _is_new(round_, earlier, "seeded")


@trial(
    "effects.seed-repeats",
    scenario=SAMPLING,
    parts=("greedy", "seeded", "seeded-again"),
    test=SAME_ANSWER,
    expected="the same text twice",
)
def same_seed_gives_the_same_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """The same request with the same seed gives the same text, at a temperature at which texts vary."""
    if equals_greedy(round_, "seeded"):
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
    """Two seeds with the same lowest 32 bits do not always give the same text: all bits of a seed are used."""
    greedy, seeded, far = (text_of(round_, part) for part in ("greedy", "seeded", "seeded-far"))
    require_length(greedy)
    return None if len(seeded) < FEW_CHARACTERS or equals_greedy(round_, "seeded") else far != seeded


@trial(
    "effects.seeds-read-exactly",
    scenario=SAMPLING,
    parts=("greedy", "seeded-even", "seeded-odd"),
    test=AT_SIGHT,
    expected="another text than that of the seed less 1",
)
def seeds_beyond_doubles_differ(round_: Round, _: Sequence[Round]) -> bool | None:
    """The seeds 2**53 and 2**53 + 1 give different texts: seeds are not converted to doubles, which are equal."""
    even, odd = (text_of(round_, part) for part in ("seeded-even", "seeded-odd"))
    return None if len(even) < FEW_CHARACTERS else even != odd


@trial(
    "effects.seed-zero-repeats",
    scenario=SAMPLING,
    parts=("greedy", "seeded-zero", "seeded-zero-again"),
    test=SAME_ANSWER,
    expected="the same text twice",
)
def zero_is_a_seed(round_: Round, _: Sequence[Round]) -> bool | None:
    """A seed of 0 gives the same text twice: it is a seed as any other, and not the absence of one."""
    return text_of(round_, "seeded-zero") == text_of(round_, "seeded-zero-again")
