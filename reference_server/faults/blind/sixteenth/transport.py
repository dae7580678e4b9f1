"""Blind faults of HTTP: bodies in another encoding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest


def _encode_in_latin(body: bytes, _request: ServedRequest) -> bytes:
    """Use the default of an older server. Violates the body: JSON, which is in UTF-8."""
    return body.decode().encode("latin-1", errors="replace")


plain_answers_in_latin = hooked_fault(
    "plain-answers-in-latin",
    "The body of a plain answer is in ISO 8859-1, in which other characters are question marks.",
    plain=_encode_in_latin,
)
