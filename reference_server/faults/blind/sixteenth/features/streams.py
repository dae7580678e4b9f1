"""Blind faults of streams: spaces in front of them, and first pieces next to tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.stream_recipes import streamed_text_fault
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

SPACE: Final = " "


def _keep_first_space(piece: str, state: Json, _request: ServedRequest) -> str:
    """Decode each token alone. Violates delta.content: the text of the answer."""
    is_first = not state.get("begun")
    state["begun"] = True
    return SPACE + piece if is_first and not piece.startswith(SPACE) else piece


def _send_buffer_again(piece: str, state: Json, request: ServedRequest) -> str:
    """Wait for a call, and send what waited. Violates delta.content: the text of the answer."""
    is_first = not state.get("begun")
    state["begun"] = True
    return piece + piece if is_first and request.payload.get("tools") else piece


streams_begin_with_a_space = streamed_text_fault(
    "streams-begin-with-a-space",
    "The text of a stream begins with a space that the plain answer does not have.",
    _keep_first_space,
)
first_pieces_doubled_next_to_tools = streamed_text_fault(
    "first-pieces-doubled-next-to-tools",
    "If a request has tools, the first piece of text of a stream is sent twice.",
    _send_buffer_again,
    applies_to=has_parameters("tools"),
)
