"""Read numbers and names of a server, within ranges: a server may send 10^4000 tokens, or a name of a megabyte."""

from __future__ import annotations

from typing import Final

MAX_COUNT: Final = 2**53
"""The greatest count that a double represents exactly, so that sums and means of counts stay finite."""
MAX_NAME: Final = 256
"""Characters of the longest name."""


def read_count(value: object) -> int | None:
    """Return a count of a server, or None if it is not an integer from 0 to `MAX_COUNT`."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_COUNT else None


def read_name(value: object) -> str | None:
    """Return a name of a server, or None if it is not a string of 1 to `MAX_NAME` characters."""
    return value if isinstance(value, str) and 0 < len(value) <= MAX_NAME else None


def read_seconds(text: str, longest_s: float) -> float | None:
    """Return a number of seconds that is written in digits, `longest_s` at most; None for anything else."""
    if not (text.isascii() and text.isdigit()):
        return None
    return min(float(text), longest_s)
