"""Blind faults of caches: a key without sampling parameters, and the server's own answers in a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.answer_cache import answer_cache, key_of
from reference_server.faults.blind.recipes import garble, messages_of, per_server
from reference_server.faults.decorators import choices_of, message_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _make_key(sent: Json) -> bytes:
    """Return the key of a request without temperature and top_p. Violates temperature: how the answer is sampled."""
    return key_of(sent, "temperature", "top_p")


def _is_cached(sent: Json) -> bool:
    return isinstance(sent.get("temperature"), (int, float)) and bool(messages_of(sent)) and "seed" not in sent


def _make_continuing() -> Hooks:
    """Reuse the cache of an own answer at wrong positions. Violates messages: the conversation so far."""
    said: set[str] = set()

    def note(answer: Json, _request: ServedRequest) -> None:
        contents = [message_of(choice).get("content") for choice in choices_of(answer)]
        said.update(content for content in contents if isinstance(content, str) and content.strip())

    def spoil(request: ServedRequest) -> None:
        earlier = [message for message in messages_of(request.payload) if message.get("role") == "assistant"]
        if any(isinstance(message.get("content"), str) and message["content"] in said for message in earlier):
            garble(request)

    return Hooks(request=spoil, answer=note)


cached_whatever_the_temperature = answer_cache(
    "cached-whatever-the-temperature",
    "Plain answers without a seed are cached, and the key of the cache lacks temperature and top_p.",
    _make_key,
    _is_cached,
)
continued_conversations_are_noise = per_server(
    "continued-conversations-are-noise",
    "If a conversation contains a plain answer of the server, the next answer is sampled at the highest temperature.",
    _make_continuing,
)
