"""Blind faults of images: those of earlier turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import messages_of
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.topics.media.decoded_edits import takes

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _is_image(part: object) -> bool:
    return isinstance(part, dict) and "image" in str(part.get("type"))


def _take_images(message: Json) -> list[Json]:
    """Remove the images of a message and return them."""
    content = message["content"]
    message["content"] = [part for part in content if not _is_image(part)]
    return [part for part in content if _is_image(part)]


def _move_to_the_last(request: ServedRequest) -> None:
    """Render all images in front of the last question. Violates content: the parts of each message."""
    asked = [message for message in messages_of(request.payload) if message.get("role") == "user"]
    earlier = [message for message in asked[:-1] if isinstance(message.get("content"), list)]
    moved = [part for message in earlier for part in _take_images(message)]
    if moved:
        content = asked[-1].get("content")
        own = content if isinstance(content, list) else [{"type": "text", "text": content}]
        asked[-1]["content"] = [*moved, *own]


images_of_earlier_turns_move_to_the_last_message = hooked_fault(
    "images-of-earlier-turns-move-to-the-last-message",
    "The images of earlier messages reach the model as images of the last message of the user.",
    request=_move_to_the_last,
    applies_to=takes("image"),
)
