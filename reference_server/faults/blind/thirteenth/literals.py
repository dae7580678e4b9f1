"""Blind faults of literal text: spaces and line ends of other systems, and zeros in streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.stream_recipes import streamed_text_fault
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

SPACES: Final = dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2009\u202f\u3000"), " ")


def _replace_spaces(request: ServedRequest) -> None:
    """Know one space. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = message["content"].translate(SPACES)


def _remove_returns(request: ServedRequest) -> None:
    """Read text as a file. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = message["content"].replace("\r\n", "\n")


def _drop_zero(piece: str, _state: Json, _request: ServedRequest) -> str:
    """Ask whether a piece is empty, in a language in which zero is. Violates delta.content."""
    return "" if piece == "0" else piece


other_spaces_replaced = hooked_fault(
    "other-spaces-replaced",
    "Spaces in a message that do not break or have another width become usual ones.",
    request=_replace_spaces,
)
carriage_returns_removed = hooked_fault(
    "carriage-returns-removed",
    "Lines of a message that end with CRLF reach the model with LF.",
    request=_remove_returns,
)
zeros_lost_in_streams = streamed_text_fault(
    "zeros-lost-in-streams", "A piece of text in a stream that is 0 is empty.", _drop_zero
)
