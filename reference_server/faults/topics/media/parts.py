"""The parts of a request that hold media, and how a fault of media is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import ServedRequest

    Keep = Callable[[int, list[Any]], list[Any]]

MEDIA: Final = ("media",)
KINDS: Final = {
    "image": ("image_url",),
    "video": ("video_url",),
    "audio": ("audio_url", "input_audio"),
}
"""Types of parts by what they contain."""
IMAGES: Final = KINDS["image"]


def takes_media(contract: Contract) -> bool:
    return "media" in contract.capabilities


def takes(kind: str) -> Callable[[Contract], bool]:
    """Apply a fault to dialects that have a check of this kind of media."""
    return lambda contract: takes_media(contract) and f"media.{kind}" in contract.requirements


def edit_parts(request: ServedRequest, edit: Keep) -> None:
    """Replace the parts of every message; edit gets the number of the message, counted from the last, and its parts."""
    messages = request.payload.get("messages")
    turns = messages if isinstance(messages, list) else []
    for at, message in enumerate(reversed(turns)):
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            message["content"] = edit(at, content)


def is_part(part: Any, types: tuple[str, ...]) -> bool:
    """Return whether a part has one of these types."""
    return isinstance(part, dict) and part.get("type") in types


def count_parts(request: ServedRequest, types: tuple[str, ...]) -> int:
    """Return how many parts of a request have one of these types."""
    messages = request.payload.get("messages")
    turns = messages if isinstance(messages, list) else []
    contents = [message.get("content") for message in turns if isinstance(message, dict)]
    return sum(is_part(part, types) for content in contents if isinstance(content, list) for part in content)


def media_fault(name: str, line: str, **options: Any) -> Fault:
    """Make a fault of servers that take media."""
    return hooked_fault(name, line, **{"applies_to": takes_media, "declares": MEDIA, **options})
