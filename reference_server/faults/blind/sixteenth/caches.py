"""Blind faults of caches: keys without the arguments of the template, and streams without usage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.answer_cache import cached_without, key_of
from reference_server.faults.blind.frame_recipes import read_chunk
from reference_server.faults.blind.recipes import is_greedy, messages_of, per_server
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest


def _is_greedy_chat(sent: Json) -> bool:
    return is_greedy(sent) and bool(messages_of(sent))


def _replay_texts() -> Hooks:
    """Keep the pieces of text. Violates include_usage: a chunk with usage."""
    seen: set[bytes] = set()

    def look_up(request: ServedRequest) -> None:
        if request.payload.get("stream") is True and _is_greedy_chat(request.payload):
            key = key_of(request.payload)
            request.state["hit"] = key in seen
            seen.add(key)

    def replay(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
        chunk = read_chunk(frame)
        if not (request.state.get("hit") and chunk.get("usage") and not chunk.get("choices")):
            yield frame

    return Hooks(request=look_up, event=replay)


# Violates chat_template_kwargs: whether the model thinks.
cached_whatever_the_thinking = cached_without(
    "cached-whatever-the-thinking",
    "Greedy plain answers are cached by the whole request but chat_template_kwargs.",
    "chat_template_kwargs",
    _is_greedy_chat,
    applies_to=has_parameters("chat_template_kwargs"),
)
cached_streams_lack_usage = per_server(
    "cached-streams-lack-usage",
    "A greedy stream that was requested before comes from a cache, which has no chunk with usage.",
    _replay_texts,
    applies_to=has_parameters("stream_options"),
)
