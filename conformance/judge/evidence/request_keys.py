"""Keys of requests: what decides the prompt, and what decides the text of an answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LIMITS: Final = frozenset(("max_tokens", "max_completion_tokens"))
TOLD: Final = frozenset(("logprobs", "top_logprobs"))
LABELS: Final = frozenset(
    ("stream", "stream_options", "user", "metadata", "safety_identifier", "prompt_cache_key", "store", "service_tier",
     "priority", "request_id", "session_id", "cache_salt", "stream_interval", "return_token_ids", "return_prompt_text",
     "return_tokens_as_token_ids", "return_token_offsets", "prompt_logprobs")
)  # fmt: skip
"""Fields that change neither the prompt nor what is generated."""
NARROWING: Final = frozenset(("top_p", "top_k", "min_p", "seed", "n"))
"""Fields without an effect on a greedy answer; of several choices each has its text."""
SAMPLING: Final = frozenset(
    ("temperature", "presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias", "stop",
     "stop_token_ids", "include_stop_str_in_output", "ignore_eos", "min_tokens", "bad_words", "allowed_token_ids",
     "skip_special_tokens", "spaces_between_special_tokens", "repetition_detection")
)  # fmt: skip
"""Further fields that change what is generated, but not the prompt."""
TOOLS: Final = ("tools", "tool_choice", "parallel_tool_calls")
STOPS: Final = ("stop", "include_stop_str_in_output")
SEARCH: Final = ("use_beam_search", "best_of")
CUT_TO: Final = "truncate_prompt_tokens"
"""The field with which all long prompts count the same."""


def make_key(fields: Mapping[str, Any], ignored: frozenset[str]) -> str:
    """Return a key of all fields of a request but those ignored."""
    return json.dumps({name: value for name, value in fields.items() if name not in ignored}, sort_keys=True)


def prompt_key(fields: Mapping[str, Any]) -> str:
    """Return a key that requests with the same prompt share."""
    return make_key(fields, LIMITS | TOLD | LABELS | SAMPLING | (NARROWING - {"n"}))


def text_key(fields: Mapping[str, Any]) -> str:
    """Return a key that requests share whose answers have the same text, as far as their limits allow."""
    return make_key(fields, LIMITS | TOLD | LABELS | (NARROWING if is_greedy_request(fields) else frozenset()))


def continued_keys(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the prompt keys of the conversations that a request continues, the longest first.

    Each ends with a message that is answered, after which at least one message has text.
    """
    messages: Any = fields.get("messages")
    if not isinstance(messages, list) or CUT_TO in fields:
        return
    for length in range(len(messages) - 1, 0, -1):
        later = messages[length:]
        if _is_answered(messages[length - 1]) and any(_has_text(message, messages) for message in later):
            yield prompt_key({**fields, "messages": messages[:length]})


def is_greedy_request(fields: Mapping[str, Any]) -> bool:
    """Return whether a request has one text, whatever its answers are narrowed to."""
    return fields.get("temperature") == 0 and not any(fields.get(name) for name in SEARCH)


def is_same(value: Any, default: Any) -> bool:
    """Return whether a value is the default. 1 is 1.0, but not true."""
    return isinstance(value, bool) is isinstance(default, bool) and bool(value == default)


def _is_answered(message: Any) -> bool:
    """Return whether an answer follows a message."""
    return isinstance(message, dict) and message.get("role") in ("user", "tool")


def _has_text(message: Any, messages: Sequence[Any]) -> bool:
    """Return whether a message has text that no template leaves out.

    Some leave out the reasoning of earlier answers, and the results of calls that no message has.
    """
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str) or not text.strip() or "</" in text:
        return False
    return message.get("role") != "tool" or message.get("tool_call_id") in _call_ids(messages)


def _call_ids(messages: Iterable[Any]) -> list[Any]:
    calls = [call for message in messages if isinstance(message, dict) for call in message.get("tool_calls") or ()]
    return [call.get("id") for call in calls if isinstance(call, dict)]
