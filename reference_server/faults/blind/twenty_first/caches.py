"""Blind faults of caches: prompts that differ in a number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import orjson

from reference_server.faults.blind.answer_cache import answer_cache, key_of
from reference_server.faults.blind.recipes import is_greedy, messages_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

NUMBER: Final = re.compile(rb"\d+")


def _is_greedy_chat(sent: Json) -> bool:
    messages = messages_of(sent)
    return is_greedy(sent) and bool(messages) and all(isinstance(message.get("content"), str) for message in messages)


def _without_numbers(sent: Json) -> bytes:
    return key_of(sent, "messages") + NUMBER.sub(b"0", orjson.dumps(sent["messages"]))


# Violates messages: the answer is one to this conversation.
cached_answers_ignore_numbers = answer_cache(
    "cached-answers-ignore-numbers",
    "Greedy plain answers are cached, and a prompt that differs in its numbers only gets the answer to the first one.",
    _without_numbers,
    _is_greedy_chat,
)
