"""Blind faults of literal text in messages: characters outside the basic plane, and percent signs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

LAST_OF_THREE_BYTES: Final = "\uffff"


def _drop_emoji(request: ServedRequest) -> None:
    """Store text in a column of three bytes. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = "".join(sign for sign in message["content"] if sign <= LAST_OF_THREE_BYTES)


def _decode_percent(request: ServedRequest) -> None:
    """Decode text like an address. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = unquote(message["content"])


emoji_in_messages_lost = hooked_fault(
    "emoji-in-messages-lost",
    "Characters beyond U+FFFF, such as emoji, in a message do not reach the model.",
    request=_drop_emoji,
)
percent_signs_in_messages_decoded = hooked_fault(
    "percent-signs-in-messages-decoded",
    "A percent sign and two digits in a message become the character that they stand for in an address.",
    request=_decode_percent,
)
