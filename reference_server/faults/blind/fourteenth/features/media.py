"""Blind faults of images: next to several choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.answer_cache import without_media
from reference_server.faults.blind.recipes import is_whole, messages_of, when
from reference_server.faults.topics.media.decoded_edits import takes

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

MOST_CHOICES: Final = 128


def _wants_several(sent: Json) -> bool:
    return is_whole(sent.get("n"), 2, MOST_CHOICES)


def _drop_images(request: ServedRequest) -> None:
    seen = without_media(messages_of(request.payload), "image")
    if all(message.get("content") != [] for message in seen):
        request.payload["messages"] = seen


def _has_several(contract: Contract) -> bool:
    return "n" in contract.parameters and takes("image")(contract)


# Violates n: each choice is one for the request.
images_lost_next_to_several = when(
    "images-lost-next-to-several",
    "Images next to text do not reach the model if several choices are requested.",
    _wants_several,
    _drop_images,
    applies_to=_has_several,
)
