"""Blind faults of long conversations, bodies and answers."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import messages_of, refusing, when
from reference_server.faults.decorators import choices_of, fault, hooked_fault, message_of
from reference_server.faults.hooks import CannedResponse

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

MOST_TURNS: Final = 24
MOST_BYTES: Final = 12_000
LATE: Final = 120  # characters
PAGE: Final = b"<html><head><title>413 Request Entity Too Large</title></head><body><h1>413</h1></body></html>"


def _garble_late_text(response: Json, request: ServedRequest) -> None:
    if request.payload.get("tools") or request.payload.get("response_format"):
        return
    sent: dict[int, int] = request.state.setdefault("sent", {})
    for choice in choices_of(response):
        said, index = message_of(choice), choice.get("index", 0)
        text = said.get("content")
        if isinstance(text, str) and text:
            before = sent.get(index, 0)
            clear = max(0, LATE - before)
            said["content"] = text[:clear] + codecs.encode(text[clear:], "rot13")
            sent[index] = before + len(text)


many_turns_refused = when(
    "many-turns-refused",
    "A conversation of more than 24 messages is refused.",
    lambda sent: len(messages_of(sent)) > MOST_TURNS,
    refusing("the chat history exceeds the limit of messages"),
)
late_text_is_noise = hooked_fault(
    "late-text-is-noise",
    "After 120 characters the text of an answer is noise.",
    answer=_garble_late_text,
    chunk=_garble_late_text,
)


@fault("large-bodies-get-413", "request")
def large_bodies_get_413(request: ServedRequest) -> CannedResponse | None:
    """A request body of more than 12,000 bytes gets a 413 with an HTML page."""
    return CannedResponse(413, PAGE, "text/html") if len(request.body) > MOST_BYTES else None
