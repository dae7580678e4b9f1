"""TODO."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from conformance.judge.round_texts import changed, text_of
from conformance.judge.rounds import trial
from conformance.statistics import AT_SIGHT, TENDENCY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.check import Round

PENALTIES = "effects-of-penalties"

MUCH = 12  # of repetition: two words five times each

CLEARLY = 0.05  # of the triples of a text: by how much more they are repeated where it is hardly chance


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
    base, present, frequent = (text_of(round_, part) for part in ("long-base", "long-present", "long-frequent"))
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
    base, found = (_repeats(text_of(round_, each)) for each in ("base", part))
    return found <= base + CLEARLY if changed(round_, part) else None


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
    return changed(round_, "present")


@trial(
    "effects.frequency-penalty-heeded",
    scenario=PENALTIES,
    parts=("base", "other", "frequent"),
    expected="another text than without it",
)
def frequency_penalty_changes_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A frequency_penalty of 2 changes what one seed draws at a high temperature."""
    return changed(round_, "frequent")


@trial(
    "effects.repetition-penalty-heeded",
    scenario=PENALTIES,
    parts=("base", "other", "repeated"),
    expected="another text than without it",
)
def repetition_penalty_changes_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A repetition_penalty of 2 changes what one seed draws at a high temperature."""
    return changed(round_, "repeated")


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


@trial(
    "effects.negative-penalty-heeded",
    scenario=PENALTIES,
    parts=("base", "other", "rewarded"),
    expected="another text than without it",
)
def negative_penalty_changes_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A frequency_penalty below 0 changes what is drawn, in streams too: penalties are read on both sides of 0."""
    return changed(round_, "rewarded")
