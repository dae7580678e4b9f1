"""Remove secrets and control characters from the text of a server. Does no I/O.

Some servers repeat the API key, or other secret headers, in their error messages; no report may show them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openapi.secret_search import SecretSearch

if TYPE_CHECKING:
    from collections.abc import Iterable

REPLACEMENT: Final = "[hidden]"


def to_printable(text: str) -> str:
    """Return the text on one line, with control characters, which a terminal would interpret, replaced."""
    return "".join(character if character.isprintable() else "?" for character in text)


def redact(text: str, secrets: Iterable[str]) -> str:
    """Replace secrets in a server's text, in any case and encoding, and the beginning of a secret at its end."""
    known = sorted(set(secrets), key=len, reverse=True)
    for secret in known:  # of any length; the search leaves out short ones
        text = text.replace(secret, REPLACEMENT)
    search = SecretSearch(known)
    text = search.replace(text, [REPLACEMENT] * len(known))
    data = text.encode(errors="surrogatepass")
    if (part := search.find_part(data, at_end=True)) is not None:
        return data[: part.start].decode(errors="surrogatepass") + REPLACEMENT
    return text
