"""Faults that show where the same request is answered differently in another place of a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reference_server.faults.decorators import choices_of, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _note(request: ServedRequest) -> None:
    request.state["narrowed"] = request.payload.get("top_p") is not None


def _spoil(answer: Json, request: ServedRequest) -> None:
    for choice in choices_of(answer) if request.state.get("narrowed") else ():
        said = message_of(choice)
        if said.get("content"):
            said["content"] = re.sub(r"([^\x00-\x7f])[^\x00-\x7f]", "\\1\ufffd", said["content"])


characters_spoilt_by_top_p = hooked_fault(
    "characters-spoilt-by-top-p",
    "With a top_p every second non-ASCII character of a plain answer becomes U+FFFD.",
    request=_note,
    answer=_spoil,
)
