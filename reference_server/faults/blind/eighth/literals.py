"""Blind faults of literal text in messages: characters with other forms, and spaces."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

SPACES: Final = re.compile(r" {2,}")


def _normalise(request: ServedRequest) -> None:
    """Replace characters by their plain forms. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = unicodedata.normalize("NFKC", message["content"])


def _collapse_spaces(request: ServedRequest) -> None:
    """Keep one of several spaces, as in HTML. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = SPACES.sub(" ", message["content"])


characters_in_messages_replaced = hooked_fault(
    "characters-in-messages-replaced",
    "Characters of a message are replaced by their compatible forms, such as ② by 2 and ﬁ by fi.",
    request=_normalise,
)
spaces_in_messages_collapse = hooked_fault(
    "spaces-in-messages-collapse",
    "Several spaces in a message become one, so that indented code loses its form.",
    request=_collapse_spaces,
)
