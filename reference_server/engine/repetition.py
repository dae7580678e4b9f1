"""Detection of token patterns that repeat at the end of an answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Repetition:
    """A pattern of `shortest` to `longest` tokens that occurs at least `count` times in a row.

    Raises ValueError for values out of range.
    """

    longest: int
    shortest: int = 1
    count: int = 2

    def __post_init__(self) -> None:
        if not 1 <= self.shortest <= self.longest:
            raise ValueError(
                f"invalid length of the shortest pattern: expected 1 to {self.longest} tokens, got {self.shortest}"
            )
        if self.count < 2:
            raise ValueError(f"invalid count of a pattern: expected at least 2, got {self.count}")


class RepetitionDetector:
    """Detector that takes tokens one by one and reports when the last ones are a repetition.

    The time per token depends only on how many of the last `longest` tokens are equal to it.
    """

    def __init__(self, repetition: Repetition) -> None:
        self._repetition = repetition
        self._length = 0
        self._positions: dict[int, list[int]] = {}  # token -> positions of its occurrences
        self._runs: dict[int, int] = {}  # distance -> number of last tokens that equal the token this far back

    def fork(self) -> RepetitionDetector:
        """Return an independent copy."""
        other = RepetitionDetector(self._repetition)
        other._length, other._runs = self._length, self._runs
        other._positions = {token: list(positions) for token, positions in self._positions.items()}
        return other

    def push(self, token: int) -> bool:
        """Return whether the tokens up to this one end in a repetition."""
        pattern = self._repetition
        positions = self._positions.setdefault(token, [])
        runs: dict[int, int] = {}
        repeated = False
        for position in reversed(positions):
            distance = self._length - position
            if distance > pattern.longest:
                break
            if distance >= pattern.shortest:
                runs[distance] = self._runs.get(distance, 0) + 1
                # A pattern occurs `count` times if all occurrences but the first repeat the previous one.
                repeated = repeated or runs[distance] >= distance * (pattern.count - 1)
        positions.append(self._length)
        self._length += 1
        self._runs = runs
        return repeated
