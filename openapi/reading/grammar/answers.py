"""Read the answers yes and no in cells of a column."""

from __future__ import annotations

from typing import Final

from openapi.reading.grammar.vocabulary import normalize

_YES: Final = frozenset({"yes", "y", "true", "✓", "✔", "✔️", "✅", "是"})
_NO: Final = frozenset({"no", "n", "false", "✗", "✘", "×", "❌", "-", "否"})


def parse_answer(text: str) -> bool | None:
    """Return whether a cell says yes; None if it says neither yes nor no."""
    word = " ".join(normalize(text).split()).rstrip("。.").lower()
    return True if word in _YES else False if word in _NO else None
