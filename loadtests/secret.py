"""The secret: the API key and headers like it, which some servers repeat in their refusals and no report may show; and
what else of their words is not for a terminal. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN: Final = "[hidden]"
SHORTEST: Final = 4
"""Characters of a secret's beginning that are hidden where a text was cut off within it."""


def plain(text: str) -> str:
    """A server's words on one line, with nothing that a terminal would obey."""
    return "".join(each if each.isprintable() else "?" for each in text)


def hidden(text: str, secrets: Iterable[str]) -> str:
    """A server's words without these, nor the beginning of one at their end."""
    for secret in secrets:
        text = text.replace(secret, SHOWN)
        cut = next((size for size in range(len(secret) - 1, SHORTEST - 1, -1) if text.endswith(secret[:size])), 0)
        text = text[:-cut] + SHOWN if cut else text
    return text
