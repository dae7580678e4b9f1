"""Checks of penalties for tokens that the text already has: whether they have an effect, and in the right direction."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from conformance.judge.round_texts import differs_from_base, text_of
from conformance.judge.rounds import trial
from conformance.statistics import AT_SIGHT, TENDENCY, TWICE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.check import Round

PENALTIES = "effects-of-penalties"
WORDS = re.compile(r"[^\W\d_\u3040-\u9fff\uac00-\ud7af]+|[,.]|[\u3040-\u9fff\uac00-\ud7af]")
"""Words and punctuation; in scripts without spaces a character counts as a word."""
LONG_TEXT = 100  # characters; a string of this length repeats at least some tokens
MUCH_EXCESS = 12  # for example two words with five occurrences each
MARGIN = 0.05  # share of repeated trigrams; a greater increase is hardly chance


@trial(
    "effects.penalties-differ",
    scenario=PENALTIES,
    parts=("long-base", "long-present", "long-frequent"),
    test=AT_SIGHT,
    expected="another text with frequency_penalty than with presence_penalty",
)
def presence_counts_once_and_frequency_each_time(round_: Round, _: Sequence[Round]) -> bool | None:
    """presence_penalty does not grow with each repetition, as frequency_penalty does: the same value of both does not
    always give the same text.

    Only answers count whose words repeat so often that frequency_penalty adds up to a multiple of presence_penalty:
    answers with presence_penalty or without any penalty, because a penalty that grows leaves few repetitions.
    """
    base, present, frequent = (text_of(round_, part) for part in ("long-base", "long-present", "long-frequent"))
    few = _excess(base) < MUCH_EXCESS and _excess(present) < MUCH_EXCESS // 2
    return None if present == base or few else frequent != present


def _excess(text: str) -> int:
    """Return by how many times its value frequency_penalty exceeds presence_penalty, summed over all words.

    The third occurrence of a word counts 1, the fourth 2. In scripts without spaces a character counts as a word.
    """
    words = re.findall(r"(?<=\s)[^\W\d_]+|[,.]|[\u3040-\u9fff\uac00-\ud7af]", text)
    return sum((number - 1) * (number - 2) // 2 for number in Counter(words).values())


def _changes(round_: Round, part: str) -> bool | None:
    """Tell whether a penalty changes the text; None if an equal text has little that a penalty could act on.

    A penalty acts on tokens that the text already has. A server that adds noise to each token, as vLLM does, chooses
    another one only where the chosen token is a repetition, so a short text of different words stays the same.
    """
    base = text_of(round_, "base")
    has_material = len(base) >= LONG_TEXT or max(Counter(WORDS.findall(base)).values(), default=0) > 1
    return differs if (differs := differs_from_base(round_, part)) or has_material else None


def _not_more_repetitive(round_: Round, part: str) -> bool | None:
    """Tell whether an answer is not clearly more repetitive than the base; None if the parameter does not change it."""
    base, share = (_repeats(text_of(round_, name)) for name in ("base", part))
    return share <= base + MARGIN if differs_from_base(round_, part) else None


def _repeats(text: str) -> float:
    """Return the share of character trigrams that occurred before: finer than words, and valid without spaces too."""
    trigrams = [text[at : at + 3] for at in range(len(text) - 2)]
    return 1 - len(set(trigrams)) / len(trigrams) if trigrams else 0.0


@trial(
    "effects.presence-penalty-heeded",
    scenario=PENALTIES,
    test=TWICE,
    parts=("base", "other", "present"),
    expected="another text than without it",
)
def presence_penalty_changes_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A presence_penalty of 2 changes the text for a seed at a high temperature."""
    return _changes(round_, "present")


@trial(
    "effects.frequency-penalty-heeded",
    scenario=PENALTIES,
    test=TWICE,
    parts=("base", "other", "frequent"),
    expected="another text than without it",
)
def frequency_penalty_changes_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A frequency_penalty of 2 changes the text for a seed at a high temperature."""
    return _changes(round_, "frequent")


@trial(
    "effects.repetition-penalty-heeded",
    scenario=PENALTIES,
    test=TWICE,
    parts=("base", "other", "repeated"),
    expected="another text than without it",
)
def repetition_penalty_changes_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A repetition_penalty of 2 changes the text for a seed at a high temperature."""
    return _changes(round_, "repeated")


@trial(
    "effects.presence-penalty-sign",
    test=TENDENCY,
    scenario=PENALTIES,
    parts=("base", "other", "present"),
    expected="no clearly more repetitive text",
)
def presence_penalty_reduces_repetition(round_: Round, _: Sequence[Round]) -> bool | None:
    """A positive presence_penalty does not make the text clearly more repetitive."""
    return _not_more_repetitive(round_, "present")


@trial(
    "effects.frequency-penalty-sign",
    test=TENDENCY,
    scenario=PENALTIES,
    parts=("base", "other", "frequent"),
    expected="no clearly more repetitive text",
)
def frequency_penalty_reduces_repetition(round_: Round, _: Sequence[Round]) -> bool | None:
    """A positive frequency_penalty does not make the text clearly more repetitive."""
    return _not_more_repetitive(round_, "frequent")


@trial(
    "effects.repetition-penalty-sign",
    test=TENDENCY,
    scenario=PENALTIES,
    parts=("base", "other", "repeated"),
    expected="no clearly more repetitive text",
)
def repetition_penalty_reduces_repetition(round_: Round, _: Sequence[Round]) -> bool | None:
    """A repetition_penalty above 1 does not make the text clearly more repetitive."""
    return _not_more_repetitive(round_, "repeated")


@trial(
    "effects.negative-penalty-heeded",
    scenario=PENALTIES,
    test=TWICE,
    parts=("base", "other", "rewarded"),
    expected="another text than without it",
)
def negative_penalty_changes_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A frequency_penalty below 0 changes the text, in streams too: penalties of both signs have an effect."""
    return _changes(round_, "rewarded")


@trial(
    "effects.repetition-reward-heeded",
    scenario=PENALTIES,
    test=TWICE,
    parts=("base", "other", "encouraged"),
    expected="another text than without it",
)
def repetition_reward_changes_the_text(round_: Round, _: Sequence[Round]) -> bool | None:
    """A repetition_penalty of 0.5, which makes repetition more likely, changes the text for a seed at a high
    temperature.
    """
    return _changes(round_, "encouraged")
