"""Blind faults of caches: keys without the results of tools, and with the beginnings of images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.answer_cache import answer_cache, key_of
from reference_server.faults.blind.recipes import is_greedy, messages_of, per_server
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks
from reference_server.faults.topics.media.decoded_edits import media_parts, takes

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

BEGINNING: Final = 64  # characters: in a PNG, as far as its size


def _without_results(sent: Json) -> bytes:
    """Return a key of what people and the model say. Violates messages: the results of tools."""
    messages = [message for message in messages_of(sent) if message.get("role") != "tool"]
    return key_of({**sent, "messages": messages})


def _is_greedy_chat(sent: Json) -> bool:
    return is_greedy(sent) and bool(messages_of(sent))


def _keep_images() -> Hooks:
    """Encode an image once. Violates image_url: the image of this request."""
    kept: dict[str, Json] = {}

    def look_up(request: ServedRequest) -> None:
        for part, location in list(media_parts(request)):
            if location.startswith("data:image/"):
                known = kept.setdefault(location[:BEGINNING], dict(part))
                part.clear()
                part.update(known)

    return Hooks(request=look_up)


cached_whatever_the_results = answer_cache(
    "cached-whatever-the-results",
    "Greedy plain answers are cached, and the key of the cache lacks the results of tools.",
    _without_results,
    _is_greedy_chat,
    applies_to=has_parameters("tools"),
)
images_cached_by_their_beginning = per_server(
    "images-cached-by-their-beginning",
    "Images are cached by the first 64 characters of their data URL, which are the same for images of one size.",
    _keep_images,
    applies_to=takes("image"),
)
