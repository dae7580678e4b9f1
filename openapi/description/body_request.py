"""A request with a body, in the form that openapi-core expects."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BodyRequest:
    """A request to validate. `body` is the raw bytes, or None if the request has no body.

    openapi-core reads these attributes, so their names are fixed. The host has no effect: descriptions have one server.
    """

    path: str
    body: bytes | None
    method: str = "post"
    content_type: str = "application/json"
    host_url: str = "http://localhost"
