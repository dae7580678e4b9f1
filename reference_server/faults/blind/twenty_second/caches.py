"""Blind faults of caches: prompts that are echoed, and questions that come again with an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.blind.answer_cache import without_media
from reference_server.faults.blind.recipes import messages_of, per_server
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks
from reference_server.faults.request_edits import failed
from reference_server.faults.topics.media.decoded_edits import takes

if TYPE_CHECKING:
    from reference_server.engine.media import MediaKind
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

KIND: Final[MediaKind] = "image"


def _fail_on_known() -> Hooks:
    """Expect that the whole prompt is computed. Violates echo, which applies to any prompt."""
    known: set[bytes] = set()

    def look_up(request: ServedRequest) -> CannedResponse | None:
        key = orjson.dumps(request.payload.get("messages"))
        is_hit = key in known and request.payload.get("echo") is True
        known.add(key)
        return failed(request) if is_hit else None

    return Hooks(request=look_up)


def _texts_of(content: Any) -> Any:
    """Return the texts of a message, whether they are one string or several parts."""
    if isinstance(content, list):
        return [part.get("text") for part in content if isinstance(part, dict)]
    return [content]


def _key_of(messages: list[Json]) -> bytes:
    return orjson.dumps([(message.get("role"), _texts_of(message.get("content"))) for message in messages])


def _lose_pictures() -> Hooks:
    """Cache prompts by their texts. Violates image_url: the image is a part of the prompt."""
    known: set[bytes] = set()

    def look_up(request: ServedRequest) -> None:
        messages = messages_of(request.payload)
        plain = without_media(messages, KIND)
        if not messages:
            return
        if plain == messages:
            known.add(_key_of(messages))
        elif _key_of(plain) in known:
            request.payload["messages"] = plain

    return Hooks(request=look_up)


echoes_of_known_prompts_fail = per_server(
    "echoes-of-known-prompts-fail",
    "A request with echo gets a 500 if the server has had its messages before.",
    _fail_on_known,
    applies_to=has_parameters("echo"),
)
images_lost_after_their_question = per_server(
    "images-lost-after-their-question",
    "Images do not reach the model if the same messages were sent without them before.",
    _lose_pictures,
    applies_to=takes(KIND),
)
