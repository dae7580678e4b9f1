"""Blind faults of caches: keys without the case of letters, the ends of long messages, or biases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.answer_cache import answer_cache, cached_without, key_of
from reference_server.faults.blind.recipes import is_greedy, messages_of
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

COMPARED: Final = 200  # characters


def _in_small_letters(sent: Json) -> bytes:
    """Return the key of a request in small letters. Violates messages.content: the text of the message."""
    return key_of({**sent, "messages": key_of({"messages": messages_of(sent)}).decode().lower()})


def _by_beginnings(sent: Json) -> bytes:
    """Return the key of a request with cut messages. Violates messages.content: the text of the message."""
    said = [
        {**message, "content": message["content"][:COMPARED]} if isinstance(message.get("content"), str) else message
        for message in messages_of(sent)
    ]
    return key_of({**sent, "messages": said})


def _is_cached(sent: Json) -> bool:
    return is_greedy(sent) and bool(messages_of(sent))


cached_whatever_the_case = answer_cache(
    "cached-whatever-the-case",
    "Greedy plain answers are cached, and the key of the cache does not tell capitals from small letters.",
    _in_small_letters,
    _is_cached,
)
cached_by_the_beginning = answer_cache(
    "cached-by-the-beginning",
    "Greedy plain answers are cached, and the key of the cache has the first 200 characters of each message.",
    _by_beginnings,
    _is_cached,
)
cached_whatever_the_bias = cached_without(
    "cached-whatever-the-bias",
    "Greedy plain answers are cached, and the key of the cache lacks logit_bias.",
    "logit_bias",
    _is_cached,
    applies_to=has_parameters("logit_bias"),
)
