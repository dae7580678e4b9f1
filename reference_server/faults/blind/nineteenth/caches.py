"""Blind faults of caches: finish reasons that are not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.answer_cache import answer_cache, key_of
from reference_server.faults.blind.recipes import is_greedy, messages_of
from reference_server.faults.decorators import choices_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json


def _is_greedy_chat(sent: Json) -> bool:
    return is_greedy(sent) and bool(messages_of(sent))


def _keep_with_stop(answer: Json) -> Json:
    """Keep the text only. Violates finish_reason: the token limit was reached."""
    choices = [
        {**choice, "finish_reason": "stop" if choice.get("finish_reason") == "length" else choice["finish_reason"]}
        for choice in choices_of(answer)
    ]
    return {**answer, "choices": choices}


hits_say_stop = answer_cache(
    "hits-say-stop",
    "Greedy plain answers are cached, and one from the cache says stop although the token limit cut it.",
    key_of,
    _is_greedy_chat,
    _keep_with_stop,
)
