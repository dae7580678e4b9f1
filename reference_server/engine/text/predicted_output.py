"""Comparison of an answer with its predicted output."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq


class PredictionTracker:
    """Tracker of an answer's position in the predicted output, in time linear in the length of the answer.

    A token matches if it is the next one of the prediction. After a mismatch, the position is found again at the
    nearest later occurrence of the answer's last two tokens; the tokens in between are skipped.
    """

    def __init__(self, tokens: Seq[int]) -> None:
        self._tokens = tokens
        self._next = 0
        self._last: int | None = None
        self._pairs: dict[tuple[int, int], list[int]] = {}  # two adjacent tokens -> positions of the second
        for at in range(1, len(tokens)):
            self._pairs.setdefault((tokens[at - 1], tokens[at]), []).append(at)

    def push(self, token: int) -> bool:
        """Return whether the answer's next token matches the prediction."""
        last, self._last = self._last, token
        at = self._next
        if at == len(self._tokens) or self._tokens[at] != token:
            positions = self._pairs.get((-1 if last is None else last, token), [])
            following = bisect_left(positions, at)
            if following == len(positions):
                return False
            at = positions[following]
        self._next = at + 1
        return True
