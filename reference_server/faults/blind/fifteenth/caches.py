"""Blind faults of caches: the finish reasons of answers that are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.answer_cache import answer_cache, key_of
from reference_server.faults.blind.recipes import is_greedy, messages_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json


def _is_greedy_chat(sent: Json) -> bool:
    return is_greedy(sent) and bool(messages_of(sent))


def _keep_texts(answer: Json) -> Json:
    """Keep what was said. Violates finish_reason: why the answer ended."""
    return {**answer, "choices": [{**choice, "finish_reason": "stop"} for choice in answer["choices"]]}


hits_end_with_stop = answer_cache(
    "hits-end-with-stop",
    "Greedy plain answers are cached by the whole request, and what comes from the cache has the finish reason stop.",
    key_of,
    _is_greedy_chat,
    keep=_keep_texts,
)
