"""Blind faults of HTTP: bodies that begin with a mark."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import TYPE_CHECKING

from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest


def _mark(body: bytes, _request: ServedRequest) -> bytes:
    """Write as to a file. Violates the body: JSON, which has no byte order mark."""
    return BOM_UTF8 + body


marks_precede_plain_answers = hooked_fault(
    "marks-precede-plain-answers", "The body of a plain answer begins with a byte order mark.", plain=_mark
)
