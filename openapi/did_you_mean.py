"""Suggest known names that are similar to an unknown one."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MIN_SIMILARITY: Final = 0.7
"""Minimum of difflib's ratio; names that differ in one letter, missing, added or moved, are above it."""


def similar_names(name: str, known: Iterable[str], limit: int = 1) -> list[str]:
    """Return up to `limit` known names that are similar to `name`, the most similar first."""
    return get_close_matches(name.lower(), list(known), limit, MIN_SIMILARITY)


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a question to append to an error about an unknown name; empty if no known name is similar."""
    return "".join(f". Did you mean {similar!r}?" for similar in similar_names(name, known))
