"""Blind faults of repeated text, line ends, escapes and parts of messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import messages_of, when
from reference_server.faults.blind.stream_recipes import streamed_text_fault
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.hooks import Refusal

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

ESCAPED_PAIR: Final = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
PARTS: Final = [{"type": "text", "text": "Hello."}, {"type": "text", "text": "How are you?"}]


def _lose_repetitions(piece: str, state: Json, _request: ServedRequest) -> str:
    """Drop a repeated piece. Violates delta.content: the pieces make up the answer."""
    repeated = piece == state.get("last")
    state["last"] = piece
    return "" if repeated else piece


def _refuse_pairs(request: ServedRequest) -> None:
    """Refuse valid JSON. Violates messages: content is any string."""
    if ESCAPED_PAIR.search(request.body):
        raise Refusal("invalid_request", "the body is not valid UTF-8: surrogates not allowed")


def _has_line_ends(sent: Json) -> bool:
    return any("\n" in message["content"] for message in messages_of(sent) if isinstance(message.get("content"), str))


def _lose_line_ends(request: ServedRequest) -> None:
    """Change what the model reads. Violates messages: content is the text of the message."""
    for message in messages_of(request.payload):
        if isinstance(message.get("content"), str):
            message["content"] = message["content"].replace("\n", "")


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text"


def _has_several_texts(sent: Json) -> bool:
    contents = (message.get("content") for message in messages_of(sent))
    return any(isinstance(content, list) and sum(map(_is_text, content)) > 1 for content in contents)


def _keep_last_text(request: ServedRequest) -> None:
    """Drop parts. Violates messages: content is the list of all parts."""
    for message in messages_of(request.payload):
        if isinstance(content := message.get("content"), list):
            texts = [part for part in content if _is_text(part)]
            message["content"] = [part for part in content if not _is_text(part) or part is texts[-1]]


repeated_pieces_lost_in_streams = streamed_text_fault(
    "repeated-pieces-lost-in-streams",
    "Streams lack a piece of text that is equal to the piece in front of it.",
    _lose_repetitions,
)
escaped_pairs_refused = hooked_fault(
    "escaped-pairs-refused",
    "A request in which a character beyond U+FFFF is written as two escapes is refused.",
    request=_refuse_pairs,
)
line_ends_in_messages_lost = when(
    "line-ends-in-messages-lost",
    "The model reads messages without their line ends.",
    _has_line_ends,
    _lose_line_ends,
)
earlier_parts_lost = when(
    "earlier-parts-lost",
    "Of a message that is a list of parts, only the last part with text is read.",
    _has_several_texts,
    _keep_last_text,
    applies_to=allows(messages=[{"role": "user", "content": PARTS}]),
)
