"""Blind faults of caches: a key that a client gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.answer_cache import answer_cache
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json


def _given_key(sent: Json) -> bytes:
    """Take the key for that of the answer. Violates prompt_cache_key, which names prompts that begin alike."""
    return str(sent["prompt_cache_key"]).encode()


def _has_key(sent: Json) -> bool:
    return isinstance(sent.get("prompt_cache_key"), str) and bool(sent["prompt_cache_key"])


answers_cached_by_the_given_key = answer_cache(
    "answers-cached-by-the-given-key",
    "Plain answers are cached by the prompt_cache_key of their request, whatever the request is.",
    _given_key,
    _has_key,
    applies_to=has_parameters("prompt_cache_key"),
)
