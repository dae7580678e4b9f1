"""Blind faults of literal text: commands, letters that look alike, and texts that are numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.stream_recipes import streamed_text_fault
from reference_server.faults.decorators import choice_fault, hooked_fault, message_of
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

COMMAND: Final = re.compile(r"\A/\S+\s+(?=\S)")
NUMBER: Final = re.compile(r"-?[0-9]{1,15}")
CYRILLIC: Final = "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0412\u041a\u041c\u041d\u041e\u0420\u0421\u0422"
LATIN: Final = "aeopcyxiBKMHOPCT"
LOOK_ALIKES: Final = str.maketrans(CYRILLIC, LATIN)


def _take_commands(request: ServedRequest) -> None:
    """Handle what begins with a slash. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        if message.get("role") == "user":
            message["content"] = COMMAND.sub("", message["content"], count=1)


def _fold_letters(request: ServedRequest) -> None:
    """Look for disguised words. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = message["content"].translate(LOOK_ALIKES)


def _write_number(choice: Json, _request: ServedRequest) -> None:
    """Write what is numeric as a number. Violates content: a string."""
    said = message_of(choice)
    content: Any = said.get("content")
    if isinstance(content, str) and NUMBER.fullmatch(content):
        said["content"] = int(content)


def _double_line_feeds(piece: str, _state: Json, _request: ServedRequest) -> str:
    """Join lines that keep their end. Violates delta.content: the text that was generated."""
    return piece.replace("\n", "\n\n")


commands_in_messages_lost = hooked_fault(
    "commands-in-messages-lost",
    "The first word of a message of the user is lost if it begins with a slash.",
    request=_take_commands,
)
look_alike_letters_replaced = hooked_fault(
    "look-alike-letters-replaced",
    "Cyrillic letters in messages become the Latin letters that look like them.",
    request=_fold_letters,
)
texts_of_digits_become_numbers = choice_fault(
    "texts-of-digits-become-numbers",
    _write_number,
    "A content that consists of digits is a number, in plain answers and in streams.",
)
line_feeds_doubled_in_streams = streamed_text_fault(
    "line-feeds-doubled-in-streams", "Each line feed in the text of a stream is sent twice.", _double_line_feeds
)
