"""The nearest of the names that there are: what was most likely meant by one that there is not."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

LIKENESS: Final = 0.7
"""Of two names, by difflib's ratio: a letter too few, too many or in the wrong place leaves more."""


def nearest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """At most so many names that are like this one, the likest first."""
    return get_close_matches(name.lower(), list(known), most, LIKENESS)


def meant(name: str, known: Iterable[str]) -> str:
    """A question for the end of a line that refuses a name; empty where nothing is like it."""
    return "".join(f". Did you mean {each!r}?" for each in nearest(name, known))
