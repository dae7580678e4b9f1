"""Blind faults of literal text in messages: zero characters, dollar signs, and words that stand for images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import fail, messages_of, when
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

MARKER: Final = "<image>"


def _end_at_zero(request: ServedRequest) -> None:
    """Copy text like a string of C. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = message["content"].partition("\0")[0]


def _replace_like_javascript(request: ServedRequest) -> None:
    """Fill a template with `replace`. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = message["content"].replace("$$", "$").replace("$&", "{content}")


def _has_marker(sent: Json) -> bool:
    contents = [message.get("content") for message in messages_of(sent)]
    return any(isinstance(content, str) and MARKER in content for content in contents)


def _fail(request: ServedRequest) -> CannedResponse:
    """Look for an image that is not there. Violates messages.content: any text."""
    return fail(request)


zero_characters_end_messages = hooked_fault(
    "zero-characters-end-messages", "The text of a message ends at a character U+0000.", request=_end_at_zero
)
dollar_signs_in_messages_replaced = hooked_fault(
    "dollar-signs-in-messages-replaced",
    "Two dollar signs in a message become one, and `$&` becomes the name of a placeholder.",
    request=_replace_like_javascript,
)
markers_of_images_in_text_fail = when(
    "markers-of-images-in-text-fail",
    "A message whose text contains `<image>`, without any image, gets a 500.",
    _has_marker,
    _fail,
)
