"""Blind faults of images in messages: next to tools, forms and videos, and in a format that is not read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.engine.media import Media
from reference_server.faults.blind.body_recipes import parts_of
from reference_server.faults.blind.recipes import dropping, messages_of, when
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.topics.media.decoded_edits import change_parts, media_fault, media_parts, takes

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

IMAGE: Final = "image_url"
WEBP: Final = "data:image/webp"


def _drop_parts(sent: Json, is_lost: Callable[[Any], bool]) -> None:
    """Remove parts from messages, unless nothing is left of one."""
    for message in messages_of(sent):
        if isinstance(message.get("content"), list):
            kept = [part for part in message["content"] if not is_lost(part)]
            message["content"] = kept or message["content"]


def _has_tools(sent: Json) -> bool:
    return bool(sent.get("tools"))


def _drop_images(request: ServedRequest) -> None:
    """Render a template for text. Violates messages.content: all of its parts."""
    _drop_parts(request.payload, lambda part: isinstance(part, dict) and part.get("type") == IMAGE)


def _has_images(sent: Json) -> bool:
    return any(part.get("type") == IMAGE for part in parts_of(sent))


def _drop_webp(request: ServedRequest) -> None:
    """Skip what cannot be decoded. Violates image_url: an image that the model sees."""
    lost = [part for part, location in media_parts(request) if location.startswith(WEBP)]
    _drop_parts(request.payload, lambda part: part in lost)


def _kind_of(part: Json) -> str | None:
    medium = part.get("media")
    return medium.kind if isinstance(medium, Media) else None


def _drop_videos(parts: list[Json]) -> list[Json]:
    """Read images first and nothing else. Violates messages.content: a video is part of it too."""
    kinds = {_kind_of(part) for part in parts}
    return [part for part in parts if _kind_of(part) != "video"] if "image" in kinds else parts


def _with(*parameters: str) -> Callable[[Contract], bool]:
    return lambda contract: takes("image")(contract) and set(parameters) <= set(contract.parameters)


images_lost_next_to_tools = when(
    "images-lost-next-to-tools",
    "Images do not reach the model if the request has tools.",
    _has_tools,
    _drop_images,
    applies_to=_with("tools"),
)
# Violates response_format, which an answer about an image has too.
forms_lost_next_to_images = when(
    "forms-lost-next-to-images",
    "A response_format has no effect if a message has an image.",
    _has_images,
    dropping("response_format"),
    applies_to=_with("response_format"),
)
webp_images_lost = hooked_fault(
    "webp-images-lost",
    "Images of the type WebP do not reach the model.",
    request=_drop_webp,
    applies_to=_with("response_format"),
)
videos_lost_next_to_images = media_fault(
    "videos-lost-next-to-images",
    "A video does not reach the model if its message has an image too.",
    lambda: lambda messages: change_parts(messages, _drop_videos),
    kind="video",
)
