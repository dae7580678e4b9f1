"""Blind faults of caches: a key that takes similar questions for the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.answer_cache import answer_cache, key_of
from reference_server.faults.blind.recipes import is_greedy, messages_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

UNIMPORTANT: Final = re.compile(rb"[0-9?!.,]+")


def _make_key(sent: Json) -> bytes:
    """Return the key of a request without figures and case. Violates messages: what the model answers."""
    return UNIMPORTANT.sub(b"", key_of(sent).lower())


def _is_cached(sent: Json) -> bool:
    return is_greedy(sent) and bool(messages_of(sent))


similar_questions_share_answers = answer_cache(
    "similar-questions-share-answers",
    "Greedy plain answers are cached for questions that differ only in figures, case and punctuation.",
    _make_key,
    _is_cached,
)
