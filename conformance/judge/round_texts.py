"""TODO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import NoOccasion
from conformance.judge.logprob_entries import CUT

if TYPE_CHECKING:
    from conformance.check import Round

CARRIED = "one-after-another"

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


def changed(round_: Round, part: str) -> bool | None:
    """Whether the text is another than without it; None where the model is sure of it whatever the seed."""
    base = text_of(round_, "base")
    sure = "other" in round_ and text_of(round_, "other") == base
    return None if len(base) < FEW_CHARACTERS or sure else text_of(round_, part) != base
