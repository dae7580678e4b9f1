"""Settings: what the operator chose, as opposed to what the contract demands."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 2**20
BODY_LIMIT_BYTES = 17 * MEBIBYTE
"""Room for the 4 Mi characters of messages that the documents allow at UTF-8's 4 bytes each, and the rest of a request.

Texts written in `\\uXXXX` escapes can take three times as much; nobody writes 4 Mi characters so, and every request in
flight may hold a body of this size.
"""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server was started with.

    model: the name that requests must use and answers carry.
    api_key: the key that every request but those for the pages must carry; None: no key is asked for.
    full_text: MindIE's full-text mode: every chunk of a stream holds the whole text so far.
    max_in_flight: requests read, waiting or answered at once; one more is refused as overloaded.
    body_limit_bytes: largest body of a request.
    write_deadline_s: how long a client may leave a part of its answer unread before it is given up.
    """

    model: str
    api_key: str | None = None
    full_text: bool = False
    max_in_flight: int = 80
    body_limit_bytes: int = BODY_LIMIT_BYTES
    write_deadline_s: float = 60.0
