"""What can go wrong on our side of a load test."""

from __future__ import annotations


class UsageError(Exception):
    """An option, a file or an installation that cannot work; its text is the one line that the user reads."""


class UnreachableError(Exception):
    """A server that cannot be reached; its text is the one line that the user reads."""
