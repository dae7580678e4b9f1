"""Errors of a load test that are caused by its options or its environment."""

from __future__ import annotations


class UsageError(Exception):
    """An invalid option, file or installation; the message is printed as one line."""


class UnreachableError(Exception):
    """A server that cannot be reached; the message is printed as one line."""
