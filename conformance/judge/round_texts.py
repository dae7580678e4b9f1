"""Compare the texts of a round: the answers to requests that differ in one parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import NotExercised
from conformance.judge.logprob_entries import CUT

if TYPE_CHECKING:
    from conformance.check import Round

REQUESTS_IN_TURN = "one-after-another"
FEW_CHARACTERS = 12  # shorter answers may be equal by chance


def text_of(round_: Round, part: str) -> str:
    """Return the text of the answer to one part of a round, without the white space around it.

    Some servers send other white space around streamed answers, which the relation of both forms shows.
    """
    return (round_[part].content() or "").strip()


def repeats_itself(text: str) -> bool:
    """Return whether all of a string is one piece again and again, of which the last may be cut off."""
    return any(text[length:] == text[:-length] for length in range(1, len(text) // 2 + 1))


def require_length(text: str) -> None:
    """Raise NotExercised if the text is so short that another one may be equal to it by chance."""
    if len(text) < FEW_CHARACTERS:
        raise NotExercised("the answer is too short to compare")


def equals_greedy(round_: Round, part: str) -> bool:
    """Tell whether an answer equals the greedy one over the length of the shorter of both: their limits may differ."""
    short, long = sorted((text_of(round_, "greedy"), text_of(round_, part)), key=len)
    return short == long or (len(short) >= FEW_CHARACTERS and long.startswith(short.rstrip(CUT)))


def differs_from_base(round_: Round, part: str) -> bool | None:
    """Tell whether a parameter changes the answer.

    None if the base is short, or if another seed gives the same answer too.
    """
    base = text_of(round_, "base")
    independent_of_seed = "other" in round_ and text_of(round_, "other") == base
    return None if len(base) < FEW_CHARACTERS or independent_of_seed else text_of(round_, part) != base
