"""Limit the memory that the records of a run take, whatever a server sends."""

from __future__ import annotations

from typing import Final

KEPT_BYTES: Final = 16 * 1024 * 1024
"""Bytes of answers that a run keeps as they are; the answers of a usual run have less than one million."""
EXCERPT_BYTES: Final = 8 * 1024 * 1024
"""Bytes of the excerpts that are kept of further answers."""


class KeptBytes:
    """Counts the bytes that the records of one client hold."""

    def __init__(self, limit: int = KEPT_BYTES, excerpts: int = EXCERPT_BYTES) -> None:
        self.limit = limit
        self._left = limit
        self._excerpts_left = excerpts

    def take(self, number: int) -> bool:
        """Reserve memory for a number of bytes; return False if there is not enough left."""
        if number > self._left:
            return False
        self._left -= number
        return True

    def give_back(self, number: int) -> None:
        """Release memory that was reserved."""
        self._left += number

    def take_excerpt(self, number: int) -> bool:
        """Reserve memory for the excerpt of an answer that is not kept; return False if there is not enough left."""
        if number > self._excerpts_left:
            return False
        self._excerpts_left -= number
        return True
