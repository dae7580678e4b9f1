"""Checks of parameters of beam search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.judge.rounds import trial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.check import Round


@trial(
    "effects.length-penalty-sign",
    scenario="choices-by-length",
    parts=("longer", "shorter"),
    expected="longer sequences with a length_penalty above 0 than below 0",
)
def length_penalty_prefers_longer_sequences(round_: Round, _: Sequence[Round]) -> bool | None:
    """A beam search returns longer sequences with a length_penalty far above 0 than with one far below 0.

    Sequences that max_tokens cuts off have the same length, so rounds in which all end with "length" are ignored.
    """
    longer, shorter = (list(round_[part].choices.values()) for part in ("longer", "shorter"))
    if all(choice.finish_reason == "length" for choice in (*longer, *shorter)):
        return None
    return sum(len(choice.content) for choice in longer) > sum(len(choice.content) for choice in shorter)
