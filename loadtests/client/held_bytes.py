"""Limit the memory that all answers in flight take together, whatever the server sends."""

from __future__ import annotations

from typing import Final

MAX_HELD: Final = 64 * 1024 * 1024
"""The most bytes of all answers in flight; the answer that needs more is a failure."""
STEP_BYTES: Final = 16 * 1024
"""An answer is counted each time that it has received this many bytes more, which small ones never do."""


class TooLarge(ValueError):
    """An answer, or a part of it, is larger than its limit."""


class HeldBytes:
    """Counts the bytes that the answers in flight of one process hold."""

    def __init__(self) -> None:
        self.total = 0

    def change(self, before: int, now: int) -> int:
        """Replace what an answer held by what it holds now, and return that. Raise TooLarge beyond the limit."""
        if now > before and self.total + now - before > MAX_HELD:
            raise TooLarge(f"all answers in flight together hold more than {MAX_HELD} bytes")
        self.total += now - before
        return now
