"""A fault of streams: they search the text of an answer for what ends events and streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import choices_of, fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

END = "[DONE]"


@fault("text-behind-done-lost", "chunk")
def text_behind_done_is_lost(chunk: Json, request: ServedRequest) -> None:
    """The text of a stream ends behind a `[DONE]` in it, and the stream goes on without text."""
    said: dict[Any, str] = request.state.setdefault("said", {})
    for choice in choices_of(chunk):
        message, index = message_of(choice), choice.get("index")
        piece = message.get("content")
        if not isinstance(piece, str):
            continue
        if END in said.get(index, ""):
            message["content"] = ""
        said[index] = said.get(index, "") + piece
