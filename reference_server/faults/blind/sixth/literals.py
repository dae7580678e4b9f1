"""Blind faults of literal text in messages: backslashes, and characters that join others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

ESCAPES: Final = {"\\n": "\n", "\\t": "\t", "\\b": "\b", "\\r": "\r", "\\\\": "\\"}
JOINER: Final = "\u200d"


def _process_escapes(request: ServedRequest) -> None:
    """Read a message as source code. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        for written, meant in ESCAPES.items():
            message["content"] = message["content"].replace(written, meant)


def _separate_joined(request: ServedRequest) -> None:
    """Write a space between joined characters. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = message["content"].replace(JOINER, " ")


backslashes_processed = hooked_fault(
    "backslashes-processed",
    "A backslash and a letter in a message become the character that they stand for in source code.",
    request=_process_escapes,
)
joiners_become_spaces = hooked_fault(
    "joiners-become-spaces",
    "The zero width joiner in a message becomes a space, which separates emoji and letters of some scripts.",
    request=_separate_joined,
)
