"""Settings: what the operator chose, as opposed to what the contract demands."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 2**20
BODY_LIMIT_BYTES = 8 * MEBIBYTE
"""Twice the 4 Mi characters that the documents allow in messages, so in ASCII every allowed request fits.

In other scripts a character takes up to 4 bytes, or 6 when escaped, and this limit comes first, at 1.4 Mi characters or
more: far beyond any context that is served. A larger limit would cost every request in flight: Python's JSON parser
takes about a second for 8 MiB of the worst kind, and nothing else runs meanwhile.
"""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server was started with.

    model: the name that requests must use and answers carry.
    api_key: the key that every request but those for the pages must carry; None: no key is asked for.
    full_text: MindIE's full-text mode: every chunk of a stream holds the whole text so far.
    max_in_flight: requests read, waiting or answered at once; one more is refused as overloaded.
    body_limit_bytes: largest body of a request.
    origins: those whose pages may read answers in a browser (`https://host:port`, or `*` for all).
    """

    model: str
    api_key: str | None = None
    full_text: bool = False
    max_in_flight: int = 80
    body_limit_bytes: int = BODY_LIMIT_BYTES
    origins: tuple[str, ...] = ()
