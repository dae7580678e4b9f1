"""Blind faults of caches: questions whose words have another order, and those with other numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.answer_cache import answer_cache, key_of
from reference_server.faults.blind.recipes import is_greedy, messages_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.hooks import Json

DIGITS: Final = re.compile(r"\d+")


def _key_with(edit: Callable[[str], Any]) -> Callable[[Json], bytes]:
    """Return a key of requests whose texts are edited. Violates messages: another question has its own answer."""

    def edit_message(message: Json) -> Json:
        content = message.get("content")
        return {**message, "content": edit(content) if isinstance(content, str) else content}

    return lambda sent: key_of({**sent, "messages": [edit_message(message) for message in messages_of(sent)]})


def _is_greedy_chat(sent: Json) -> bool:
    return is_greedy(sent) and bool(messages_of(sent))


cached_whatever_the_order_of_words = answer_cache(
    "cached-whatever-the-order-of-words",
    "Greedy plain answers are cached, and the key of the cache has the words of a message without their order.",
    _key_with(lambda text: sorted(text.split())),
    _is_greedy_chat,
)
cached_whatever_the_digits = answer_cache(
    "cached-whatever-the-digits",
    "Greedy plain answers are cached, and in the key of the cache all numbers in messages are the same.",
    _key_with(lambda text: DIGITS.sub("0", text)),
    _is_greedy_chat,
)
