"""Blind faults of images in messages: their details, tools next to them, those of results, and equal ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.engine.media import Media
from reference_server.faults.blind.body_recipes import parts_of
from reference_server.faults.blind.recipes import dropping, messages_of, refusing, when
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.topics.media.decoded_edits import media_fault, takes

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest


def _collapse() -> Callable[[list[Json]], list[Json]]:
    """Find images by their hash. Violates messages.content: each image stands at its place."""

    def collapse(messages: list[Json]) -> list[Json]:
        seen: set[bytes] = set()

        def is_new(part: Any) -> bool:
            media = part.get("media") if isinstance(part, dict) else None
            if not isinstance(media, Media):
                return True
            known = media.digest in seen
            seen.add(media.digest)
            return not known

        return [
            {**message, "content": [part for part in message["content"] if is_new(part)]}
            if isinstance(message.get("content"), list)
            else message
            for message in messages
        ]

    return collapse


def _image_parts(sent: Json) -> list[Json]:
    return [part for part in parts_of(sent) if part.get("type") == "image_url"]


def _states_detail(sent: Json) -> bool:
    return any(isinstance(part.get("image_url"), dict) and "detail" in part["image_url"] for part in _image_parts(sent))


def _has_images(sent: Json) -> bool:
    return bool(_image_parts(sent))


def _drop_images_of_results(request: ServedRequest) -> None:
    """Read the text of a result. Violates content of a tool message: all parts."""
    for message in messages_of(request.payload):
        if message.get("role") == "tool" and isinstance(message.get("content"), list):
            message["content"] = [part for part in message["content"] if part.get("type") == "text"]


def _takes_details(contract: Contract) -> bool:
    return takes("image")(contract) and "response_format" in contract.parameters


def _takes_tools(contract: Contract) -> bool:
    return takes("image")(contract) and "tools" in contract.parameters


equal_images_collapse = media_fault(
    "equal-images-collapse", "Of equal images in a conversation, only the first one reaches the model.", _collapse
)
# Violates detail, which an image may have.
details_of_images_refused = when(
    "details-of-images-refused",
    "An image with a `detail` is refused.",
    _states_detail,
    refusing("image_url.detail: extra inputs are not permitted"),
    applies_to=_takes_details,
)
images_of_results_lost = hooked_fault(
    "images-of-results-lost",
    "Images in the result of a tool do not reach the model.",
    request=_drop_images_of_results,
    applies_to=_takes_tools,
)
# Violates tools, which apply to every message.
tools_lost_next_to_images = when(
    "tools-lost-next-to-images",
    "Tools are ignored if a message has an image.",
    _has_images,
    dropping("tools", "tool_choice", "parallel_tool_calls"),
    applies_to=_takes_tools,
)
