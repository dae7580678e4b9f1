"""Write a number with its noun, in the singular or the plural."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

LARGE: Final = 10**15


def format_quantity(number: float, noun: str, plural: str | None = None) -> str:
    """Return a number and its noun, such as `1 request` or `1,500 requests`.

    noun: the singular, which may end with a verb (`request was sent again`). plural: needed unless it is the noun with
    an s at its end.
    """
    word = noun if number == 1 else plural or f"{noun}s"
    if isinstance(number, int) and abs(number) >= LARGE:  # an integer of a server may be too large for a float
        return f"{Decimal(number):.3g} {word}"
    return f"{number:,.12g} {word}"
