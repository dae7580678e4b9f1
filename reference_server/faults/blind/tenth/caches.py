"""Blind faults of caches: keys without the case of letters or biases, and words of earlier answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.answer_cache import answer_cache, cached_without, key_of
from reference_server.faults.blind.recipes import is_greedy, messages_of, per_server
from reference_server.faults.decorators import choices_of, has_parameters, message_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _in_small_letters(sent: Json) -> bytes:
    """Return the key of a request in small letters. Violates messages.content: the text of the message."""
    return key_of({**sent, "messages": key_of({"messages": messages_of(sent)}).decode().lower()})


def _repeat_first_words() -> Hooks:
    """Keep a token with what is cached. Violates content: the text that the model generates."""
    kept: dict[str, str] = {}

    def repeat(answer: Json, request: ServedRequest) -> None:
        asked = " ".join(str(message.get("content")) for message in messages_of(request.payload)[-1:]).split()
        for choice in choices_of(answer) if asked and not request.payload.get("tools") else ():
            said = message_of(choice)
            words = str(said.get("content") or "").split(" ")
            if words[0]:
                said["content"] = " ".join([kept.get(asked[0], words[0]), *words[1:]])
                kept[asked[0]] = words[0]

    return Hooks(answer=repeat)


def _is_cached(sent: Json) -> bool:
    return is_greedy(sent) and bool(messages_of(sent))


cached_whatever_the_case = answer_cache(
    "cached-whatever-the-case",
    "Greedy plain answers are cached, and the key of the cache does not tell capitals from small letters.",
    _in_small_letters,
    _is_cached,
)
first_words_repeated_on_hits = per_server(
    "first-words-repeated-on-hits",
    "A plain answer begins with the first word of an earlier answer to a message with the same first word.",
    _repeat_first_words,
)
cached_whatever_the_bias = cached_without(
    "cached-whatever-the-bias",
    "Greedy plain answers are cached, and the key of the cache lacks logit_bias.",
    "logit_bias",
    _is_cached,
    applies_to=has_parameters("logit_bias"),
)
