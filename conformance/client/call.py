"""Call: what the client is told to send, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.client.secret import Alteration


@dataclass(frozen=True, slots=True)
class Call:
    """What to send, and when to stop.

    `url` is put behind the client's URL unless it names a scheme. `headers` go out as they stand and replace
    defaults of the same name (Accept, Accept-Encoding, User-Agent, Authorization); nothing else is added but Host and
    Content-Length. `stop_after_events` disconnects on purpose after so many events (0: after the headers).
    `deadline_s` bounds the whole exchange, from connecting to the last byte. `with_key=False` keeps the key back,
    `scheme` is the word before it, `alteration` makes a wrong key of it. Calls of one `line` share a connection, as
    far as the server keeps it open.
    """

    id: str
    scenario: str
    step: str
    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    stop_after_events: int | None = None
    deadline_s: float = 60.0
    with_key: bool = True
    scheme: str = "Bearer"
    line: str | None = None
    alteration: Alteration | None = None
