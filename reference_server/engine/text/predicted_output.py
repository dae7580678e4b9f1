"""Prediction: what an answer was expected to be, and which of its tokens came as expected."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq


class PredictionTracker:
    """Follows an answer through the text that was predicted for it, in time that grows with the answer alone.

    A token came as predicted where it is the next one of the prediction. After another one the answer is found again at
    the nearest later place of the prediction that has its last two tokens; those that it left out stay left out.
    """

    def __init__(self, tokens: Seq[int]) -> None:
        self._tokens = tokens
        self._next = 0
        self._last: int | None = None
        self._pairs: dict[tuple[int, int], list[int]] = {}  # two tokens -> where the second one stands
        for at in range(1, len(tokens)):
            self._pairs.setdefault((tokens[at - 1], tokens[at]), []).append(at)

    def push(self, token: int) -> bool:
        """Whether the answer's next token came as predicted."""
        last, self._last = self._last, token
        at = self._next
        if at == len(self._tokens) or self._tokens[at] != token:
            places = self._pairs.get((-1 if last is None else last, token), [])
            found = bisect_left(places, at)
            if found == len(places):
                return False
            at = places[found]
        self._next = at + 1
        return True
