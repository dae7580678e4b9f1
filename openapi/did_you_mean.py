"""Suggest known names that are similar to an unknown one."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MIN_SIMILARITY: Final = 0.7
"""Minimum of difflib's ratio; names that differ in one letter, missing, added or moved, are above it."""


COMPARED: Final = 10
"""How many similar names are compared by their typing errors."""


def similar_names(name: str, known: Iterable[str], limit: int = 1) -> list[str]:
    """Return up to `limit` known names that are similar to `name`, those with the fewest typing errors first."""
    similar = get_close_matches(name.lower(), list(known), COMPARED, MIN_SIMILARITY)
    return sorted(similar, key=lambda other: count_typing_errors(name.lower(), other.lower()))[:limit]


def count_typing_errors(name: str, other: str) -> int:
    """Return how many letters have to be changed, added, removed or exchanged with the next one to get the other name.

    This is the edit distance of Damerau and Levenshtein, in which no part is edited twice.
    """
    before, last, row = list[int](), list[int](), list(range(len(other) + 1))
    for number, letter in enumerate(name, 1):
        before, last, row = last, row, [number]
        for at, wanted in enumerate(other, 1):
            fewest = min(last[at] + 1, row[at - 1] + 1, last[at - 1] + (letter != wanted))
            if number > 1 and at > 1 and letter == other[at - 2] and name[number - 2] == wanted:
                fewest = min(fewest, before[at - 2] + 1)
            row.append(fewest)
    return row[-1]


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a question to append to an error about an unknown name; empty if no known name is similar."""
    return "".join(f". Did you mean {similar!r}?" for similar in similar_names(name, known))
