"""Blind faults of usage in streams: of conversations, and of answers with calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.frame_recipes import read_chunk
from reference_server.faults.blind.recipes import messages_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest


def _count_last_message(chunk: Json, request: ServedRequest) -> None:
    """Estimate the prompt of a stream from the question. Violates prompt_tokens: the tokens of all messages."""
    usage, earlier = chunk.get("usage"), messages_of(request.payload)[:-1]
    texts = [message["content"] for message in earlier if isinstance(message.get("content"), str)]
    words = sum(len(text.split()) for text in texts)
    if isinstance(usage, dict) and usage.get("prompt_tokens", 0) > words:
        usage["prompt_tokens"] -= words
        usage["total_tokens"] -= words


def _end_after_calls(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Take calls for the end of a stream. Violates include_usage: a chunk with usage follows the last choice."""
    chunk = read_chunk(frame)
    if any(choice.get("finish_reason") == "tool_calls" for choice in choices_of(chunk)):
        request.state["called"] = True
    if not (request.state.get("called") and chunk.get("usage") and not chunk.get("choices")):
        yield frame


streams_count_the_last_message = hooked_fault(
    "streams-count-the-last-message",
    "In streams, the number of prompt tokens leaves out the words of all messages except the last one.",
    chunk=_count_last_message,
)
streams_of_calls_lack_usage = hooked_fault(
    "streams-of-calls-lack-usage",
    "A stream that ends with calls has no chunk with usage.",
    event=_end_after_calls,
    applies_to=has_parameters("tools", "stream_options"),
)
