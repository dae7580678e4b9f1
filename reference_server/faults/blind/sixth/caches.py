"""Blind faults of caches: a key that contains the last message only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from reference_server.faults.blind.answer_cache import answer_cache, key_of
from reference_server.faults.blind.recipes import is_greedy, messages_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json


def _make_key(sent: Json) -> bytes:
    """Return the key of a request without its history. Violates messages: the conversation so far."""
    return key_of(sent, "messages") + orjson.dumps(messages_of(sent)[-1], option=orjson.OPT_SORT_KEYS)


def _is_cached(sent: Json) -> bool:
    return is_greedy(sent) and bool(messages_of(sent))


cached_by_the_last_message = answer_cache(
    "cached-by-the-last-message",
    "Greedy plain answers are cached by the last message, whatever precedes it.",
    _make_key,
    _is_cached,
)
