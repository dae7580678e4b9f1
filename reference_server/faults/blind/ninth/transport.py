"""Blind faults of HTTP: long answers, and messages that are taken for attacks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.gateway_recipes import forbidden
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import CannedResponse, ServedRequest

LARGEST_ANSWER: Final = 4_096  # bytes
ATTACKS: Final = re.compile(rb"<script|\.\./|union select|drop table|/etc/passwd|curl http", re.IGNORECASE)


def _cut(body: bytes, _request: ServedRequest) -> bytes:
    """Send what fits into a buffer. Violates the form of an answer, which is JSON."""
    return body[:LARGEST_ANSWER]


def _forbid_code(request: ServedRequest) -> CannedResponse | None:
    """Look for attacks in text. Violates messages.content: any text."""
    return forbidden() if ATTACKS.search(request.body) else None


large_answers_cut = hooked_fault("large-answers-cut", "A plain answer of more than 4,096 bytes ends there.", plain=_cut)
messages_with_code_forbidden = hooked_fault(
    "messages-with-code-forbidden",
    "A firewall answers requests with certain pieces of code, such as `../` and `<script`, with 403 and a page.",
    request=_forbid_code,
)
