"""The secret: the API key, which some servers repeat in their refusals and no report may show; and what else of their
words is not for a terminal. Pure."""

from __future__ import annotations

from typing import Final

SHOWN: Final = "[API key]"
SHORTEST: Final = 4
"""Characters of the key's beginning that are hidden where a text was cut off in mid-key."""


def plain(text: str) -> str:
    """A server's words on one line, with nothing that a terminal would obey."""
    return "".join(each if each.isprintable() else "?" for each in text)


def hidden(text: str, key: str) -> str:
    """A server's words without the key, nor its beginning at their end."""
    if not key:
        return text
    text = text.replace(key, SHOWN)
    cut = next((size for size in range(len(key) - 1, SHORTEST - 1, -1) if text.endswith(key[:size])), 0)
    return text[:-cut] + SHOWN if cut else text
