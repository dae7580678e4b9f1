"""Blind faults of literal text in messages: accents and spaces."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

SPACES: Final = re.compile(r" {2,}")


def _drop_accents(request: ServedRequest) -> None:
    """Keep letters without their marks. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        signs = unicodedata.normalize("NFD", message["content"])
        message["content"] = "".join(sign for sign in signs if not unicodedata.combining(sign))


def _collapse_spaces(request: ServedRequest) -> None:
    """Keep one of several spaces, as in HTML. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = SPACES.sub(" ", message["content"])


accents_in_messages_lost = hooked_fault(
    "accents-in-messages-lost",
    "The accents of letters in a message do not reach the model, so that ü becomes u.",
    request=_drop_accents,
)
spaces_in_messages_collapse = hooked_fault(
    "spaces-in-messages-collapse",
    "Several spaces in a message become one, so that indented code loses its form.",
    request=_collapse_spaces,
)
