"""Blind faults of caches: a key without roles, and conversations that are taken for others of the same length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.answer_cache import answer_cache, key_of
from reference_server.faults.blind.recipes import is_greedy, messages_of, per_server
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _make_key(sent: Json) -> bytes:
    """Return the key of a request without roles. Violates messages.role: who says what."""
    said = [{name: message[name] for name in message if name != "role"} for message in messages_of(sent)]
    return key_of({**sent, "messages": said})


def _is_cached(sent: Json) -> bool:
    return is_greedy(sent) and bool(messages_of(sent))


def _make_confusing() -> Hooks:
    """Compare lengths of what is cached. Violates messages: the conversation so far."""
    kept: dict[tuple[int, ...], list[Json]] = {}

    def confuse(request: ServedRequest) -> None:
        messages = messages_of(request.payload)
        lengths = tuple(len(str(message.get("content"))) for message in messages)
        if len(messages) > 1 and not request.payload.get("tools"):
            earlier = kept.setdefault(lengths, messages)
            request.payload["messages"] = [*earlier[:-1], messages[-1]]

    return Hooks(request=confuse)


cached_whatever_the_roles = answer_cache(
    "cached-whatever-the-roles",
    "Greedy plain answers are cached, and the key of the cache lacks the roles of messages.",
    _make_key,
    _is_cached,
)
histories_of_one_length_confused = per_server(
    "histories-of-one-length-confused",
    "A conversation whose messages are as long as those of an earlier one has its messages, except for the last one.",
    _make_confusing,
)
