"""Finds the start of a string at the end of text that must be held back until more is known."""

from __future__ import annotations


def partial_match_length(text: str, targets: tuple[str, ...]) -> int:
    """Return the length of the longest suffix that begins one of the targets without being all of it."""
    longest = max(map(len, targets)) - 1
    for length in range(min(longest, len(text)), 0, -1):
        end = text[-length:]
        if any(target.startswith(end) for target in targets):
            return length
    return 0
