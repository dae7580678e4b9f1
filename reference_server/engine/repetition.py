"""Repetition: an end to text that repeats itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Repetition:
    """A pattern of `shortest` to `longest` tokens that comes at least `count` times in a row.

    Raises ValueError for a pattern that cannot be.
    """

    longest: int
    shortest: int = 1
    count: int = 2

    def __post_init__(self) -> None:
        if not 1 <= self.shortest <= self.longest:
            raise ValueError(f"the shortest pattern has {self.shortest} tokens: it must have 1 to {self.longest}")
        if self.count < 2:
            raise ValueError(f"the least count of a pattern is {self.count}: it must be at least 2")


class RepetitionDetector:
    """Takes tokens, and says when the last ones are a repetition; in a time that grows with equal tokens only."""

    def __init__(self, repetition: Repetition) -> None:
        self._repetition = repetition
        self._length = 0
        self._places: dict[int, list[int]] = {}  # of each token
        self._runs: dict[int, int] = {}  # distance -> how many of the last tokens equal the one so far before them

    def fork(self) -> RepetitionDetector:
        """Another one that begins with the same tokens."""
        other = RepetitionDetector(self._repetition)
        other._length, other._runs = self._length, self._runs
        other._places = {token: list(places) for token, places in self._places.items()}
        return other

    def push(self, token: int) -> bool:
        """Whether the tokens up to this one end with a repetition."""
        wanted = self._repetition
        places = self._places.setdefault(token, [])
        runs: dict[int, int] = {}
        found = False
        for place in reversed(places):
            distance = self._length - place
            if distance > wanted.longest:
                break
            if distance >= wanted.shortest:
                runs[distance] = self._runs.get(distance, 0) + 1
                # A pattern came `count` times when all but its first coming equal what came before.
                found = found or runs[distance] >= distance * (wanted.count - 1)
        places.append(self._length)
        self._length += 1
        self._runs = runs
        return found
