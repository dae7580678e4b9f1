"""Blind faults of characters: those with a compatible form in messages, and emoji in streams."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.body_recipes import parts_of
from reference_server.faults.blind.stream_recipes import streamed_text_fault
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

LAST_OF_TWO_BYTES: Final = "\uffff"


def _normalise(request: ServedRequest) -> None:
    """Normalise the prompt as a tokenizer of words does. Violates content: the text as it was written."""
    for message in text_messages(request):
        message["content"] = unicodedata.normalize("NFKC", message["content"])
    for part in parts_of(request.payload):
        if isinstance(part.get("text"), str):
            part["text"] = unicodedata.normalize("NFKC", part["text"])


def _end_after_emoji(piece: str, state: Json, _request: ServedRequest) -> str:
    """Compare the whole text with one that had half of a character. Violates delta.content: the whole text."""
    kept = "" if state.get("over") else piece
    state["over"] = state.get("over") or any(character > LAST_OF_TWO_BYTES for character in piece)
    return kept


compatible_characters_normalised = hooked_fault(
    "compatible-characters-normalised",
    "Characters such as full-width letters, ligatures and superscripts reach the model as usual letters and digits.",
    request=_normalise,
)
texts_after_emoji_lost_in_streams = streamed_text_fault(
    "texts-after-emoji-lost-in-streams",
    "A stream has no text after the piece that completes an emoji.",
    _end_after_emoji,
)
