"""A request as the caller describes it, before the client completes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.scenario import Alteration


@dataclass(frozen=True, slots=True)
class Call:
    """A request to send, and when to stop reading the answer.

    `url` is appended to the client's URL unless it has a scheme. `headers` are sent unchanged and replace defaults of
    the same name (Accept, Accept-Encoding, User-Agent, Authorization); otherwise only Host and Content-Length are
    added. `stop_after_events` disconnects after that many events (0: after the headers). `deadline_s` limits the whole
    exchange, from connecting to the last byte. `with_key=False` leaves out the API key, `scheme` is the word in front
    of it, and `alteration` makes a wrong key from it. Calls with the same `connection_name` share a connection as long
    as the server keeps it open.
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
    connection_name: str | None = None
    alteration: Alteration | None = None
