"""Draws pieces of questions and answers from a seeded generator: words, names and identifiers."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from reference_server.tiny import lexicon

if TYPE_CHECKING:
    from random import Random


def pseudo_word(rng: Random) -> str:
    """Return an invented word: usually syllables, sometimes single letters."""
    if rng.random() < 0.75:
        return "".join(rng.choice(lexicon.SYLLABLES) for _ in range(rng.choice((2, 2, 3, 3, 4, 6, 9))))
    return "".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randint(3, 12)))


def identifier(rng: Random) -> str:
    """Return an identifier as a shop or a server might print it: 4711, ORD-20931, x7f3a0. It ends in a digit."""
    kind = rng.random()
    if kind < 0.35:
        return str(rng.randint(1, 99_999))
    if kind < 0.75:
        prefix = rng.choice(("order_", "ORD-", "A", "id-", "X", "user_", "pkg-", "T", "#", "INV"))
        return prefix + str(rng.randint(10, 999_999))
    letters = "".join(rng.choice(string.ascii_lowercase + string.digits) for _ in range(rng.randint(3, 7)))
    return letters + rng.choice(string.digits)


def person(rng: Random) -> str:
    """Return a first name. One in three is invented."""
    return rng.choice(lexicon.NAMES) if rng.random() < 0.67 else pseudo_word(rng).capitalize()


def phrase(rng: Random, low: int, high: int) -> str:
    """Return between `low` and `high` random English words."""
    return " ".join(rng.choice(lexicon.WORDS) for _ in range(rng.randint(low, high)))
