"""Blind faults of caches: questions with the same words in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.answer_cache import answer_cache, key_of
from reference_server.faults.blind.recipes import is_greedy, messages_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json


def _sort_words(content: Any) -> Any:
    return sorted(content.split()) if isinstance(content, str) else content


def _by_words(sent: Json) -> bytes:
    """Return a key of words without their order. Violates messages: another question has its own answer."""
    messages = [{**message, "content": _sort_words(message.get("content"))} for message in messages_of(sent)]
    return key_of({**sent, "messages": messages})


def _is_greedy_chat(sent: Json) -> bool:
    return is_greedy(sent) and bool(messages_of(sent))


cached_whatever_the_order_of_words = answer_cache(
    "cached-whatever-the-order-of-words",
    "Greedy plain answers are cached, and the key of the cache has the words of a message without their order.",
    _by_words,
    _is_greedy_chat,
)
