"""Blind faults of images: in streams, next to log-probabilities, and those that are taller than wide."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.answer_cache import without_media
from reference_server.faults.blind.body_recipes import parts_of
from reference_server.faults.blind.recipes import messages_of, when
from reference_server.faults.decorators import choice_fault, hooked_fault
from reference_server.faults.topics.media.decoded_edits import media_parts, picture_in, replace_file, takes

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

QUARTER_TURN: Final = 90


def has_images(sent: Json) -> bool:
    """Whether a message of a request has an image."""
    return any("image" in str(part.get("type")) for part in parts_of(sent))


def _streams(sent: Json) -> bool:
    return sent.get("stream") is True


def _drop_images(request: ServedRequest) -> None:
    seen = without_media(messages_of(request.payload), "image")
    if all(message.get("content") != [] for message in seen):
        request.payload["messages"] = seen


def _lose_scores(choice: Json, request: ServedRequest) -> None:
    """Use another sampler. Violates logprobs: those of each token."""
    if choice.get("logprobs") is not None and has_images(request.payload):
        choice["logprobs"] = None


def _turn(request: ServedRequest) -> None:
    """Take the height for the width. Violates image_url: what the image shows."""
    for part, location in list(media_parts(request)):
        picture = picture_in(location)
        if picture is not None and picture.height > picture.width:
            written = io.BytesIO()
            picture.rotate(QUARTER_TURN, expand=True).save(written, "PNG")
            replace_file(request, part, written.getvalue(), "image/png")


def _scores_and_sees(contract: Contract) -> bool:
    return "logprobs" in contract.parameters and takes("image")(contract)


# Violates image_url: the image belongs to its message, whether or not the answer is a stream.
images_lost_in_streams = when(
    "images-lost-in-streams",
    "Images next to text do not reach the model if the answer is a stream.",
    _streams,
    _drop_images,
    applies_to=takes("image"),
)
scores_lost_next_to_images = choice_fault(
    "scores-lost-next-to-images",
    _lose_scores,
    "Answers to messages with images have no log-probabilities.",
    applies_to=_scores_and_sees,
)
tall_images_turned = hooked_fault(
    "tall-images-turned",
    "An image that is taller than wide reaches the model turned by a quarter.",
    request=_turn,
    applies_to=takes("image"),
)
