"""Blind faults of images and clips in messages: which of them the model gets, and images of other requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.engine.media import Media
from reference_server.faults.blind.recipes import crowd_fault, messages_of
from reference_server.faults.hooks import Hooks
from reference_server.faults.topics.media.decoded_edits import (
    change_media,
    media_fault,
    media_parts,
    takes,
    with_frames,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import Json, ServedRequest


def _keep_images() -> Callable[[list[Json]], list[Json]]:
    """Clear a slot too late. Violates messages: the request has no image."""
    kept: list[Json] = []

    def add(messages: list[Json]) -> list[Json]:
        images = [
            part
            for message in messages
            if isinstance(message.get("content"), list)
            for part in message["content"]
            if isinstance(part.get("media"), Media)
        ]
        said = messages[-1].get("content") if messages else None
        if images:
            kept[:] = images[-1:]
        elif kept and isinstance(said, str):
            content = [kept.pop(), {"type": "text", "text": said}]
            return [*messages[:-1], {**messages[-1], "content": content}]
        return messages

    return add


def _cut_video(media: Media) -> Media:
    """Sample the first seconds. Violates what a video shows."""
    return with_frames(media, media.frames[: (len(media.frames) + 1) // 2]) if media.kind == "video" else media


def _exchange_images(crowd: Crowd) -> Hooks:
    """Use the features of another row. Violates messages.content: the images of this request."""

    def exchange(request: ServedRequest) -> None:
        others = [
            part
            for sent in crowd.others(request)
            for message in messages_of(sent)
            if isinstance(message.get("content"), list)
            for part in message["content"]
            if isinstance(part, dict)
        ]
        for part, _ in media_parts(request):
            part.update(next((other for other in others if other.get("type") == part["type"]), part))

    return Hooks(request=exchange)


images_outlive_their_request = media_fault(
    "images-outlive-their-request",
    "A request without images gets the last image of the request before it.",
    _keep_images,
)
videos_lose_their_end = media_fault(
    "videos-lose-their-end", "The second half of a video is lost.", change_media(_cut_video), kind="video"
)
images_swapped_in_crowds = crowd_fault(
    "images-swapped-in-crowds",
    "A request with images has the image of another request that is running.",
    _exchange_images,
    applies_to=takes("image"),
)
