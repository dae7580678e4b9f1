"""Blind faults of usage: while a stream is running, and of conversations that go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from reference_server.faults.blind.recipes import messages_of, per_server
from reference_server.faults.decorators import envelope_fault
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

BLOCK: Final = 64  # tokens of a prompt that are read at once


def _reports_usage_so_far(contract: Contract) -> bool:
    return "continuous_usage" in contract.capabilities


def _subtract(usage: Json, tokens: int) -> None:
    """Take tokens off the prompt, of which at least one remains."""
    tokens = min(tokens, usage["prompt_tokens"] - 1)
    usage["prompt_tokens"] -= tokens
    usage["total_tokens"] -= tokens


def _count_last_block(chunk: Json, _request: ServedRequest) -> None:
    """Count what was read last. Violates continuous_usage_stats: the tokens of the whole prompt in each chunk."""
    usage = chunk.get("usage")
    if isinstance(usage, dict) and chunk.get("choices") and usage.get("prompt_tokens", 0) > BLOCK:
        _subtract(usage, (usage["prompt_tokens"] - 1) // BLOCK * BLOCK)


def _count_new_messages() -> Hooks:
    """Count what the cache lacks. Violates prompt_tokens: the tokens of all messages."""
    known: set[bytes] = set()

    def note(request: ServedRequest) -> None:
        messages = messages_of(request.payload)
        keys = [orjson.dumps(messages[:number]) for number in range(1, len(messages))]
        read = max((number for number, key in enumerate(keys, 1) if key in known), default=0)
        texts = [message.get("content") for message in messages[:read]]
        request.state["words"] = sum(len(text.split()) for text in texts if isinstance(text, str))
        known.add(orjson.dumps(messages))

    def count(response: Json, request: ServedRequest) -> None:
        if isinstance(response.get("usage"), dict) and request.state.get("words"):
            _subtract(response["usage"], request.state["words"])

    return Hooks(request=note, answer=count, chunk=count)


usage_so_far_counts_the_last_block = envelope_fault(
    "usage-so-far-counts-the-last-block",
    _count_last_block,
    "With continuous_usage_stats, the chunks with text count the last 64 tokens of a longer prompt, or fewer.",
    plain=False,
    applies_to=_reports_usage_so_far,
)
continued_conversations_count_new_messages = per_server(
    "continued-conversations-count-new-messages",
    "If a conversation goes on after a request, its prompt_tokens lacks the words of the messages of that request.",
    _count_new_messages,
)
