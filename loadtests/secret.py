"""Remove secrets and control characters from the text of a server. Does no I/O.

Some servers repeat the API key, or other secret headers, in their error messages; no report may show them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

REPLACEMENT: Final = "[hidden]"
MIN_PREFIX: Final = 4
"""The least number of characters at which the beginning of a secret is hidden at the end of a cut-off text."""


def to_printable(text: str) -> str:
    """Return the text on one line, with control characters, which a terminal would interpret, replaced."""
    return "".join(character if character.isprintable() else "?" for character in text)


def redact(text: str, secrets: Iterable[str]) -> str:
    """Replace secrets in a server's text, and the beginning of a secret at its end."""
    for secret in secrets:
        text = text.replace(secret, REPLACEMENT)
        cut = next((size for size in range(len(secret) - 1, MIN_PREFIX - 1, -1) if text.endswith(secret[:size])), 0)
        text = text[:-cut] + REPLACEMENT if cut else text
    return text
