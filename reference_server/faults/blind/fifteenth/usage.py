"""Blind faults of token counts: of earlier calls, and of streams that are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.frame_recipes import read_chunk, write_chunk
from reference_server.faults.blind.tool_recipes import past_functions
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest


def _words_of_calls(sent: Json) -> int:
    """Return the number of words in the names and arguments of earlier calls."""
    return sum(1 + len(str(function.get("arguments")).split()) for function in past_functions(sent))


def _leave_calls_out(response: Json, request: ServedRequest) -> None:
    """Count contents. Violates prompt_tokens: the tokens of the prompt."""
    usage, words = response.get("usage"), _words_of_calls(request.payload)
    if isinstance(usage, dict) and usage.get("prompt_tokens", 0) > words:
        usage["prompt_tokens"] -= words
        usage["total_tokens"] -= words


def _lose_usage(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Report what has ended. Violates include_usage: a chunk with usage, however the answer ends."""
    chunk = read_chunk(frame)
    if any(choice.get("finish_reason") == "length" for choice in choices_of(chunk)):
        request.state["cut"] = True
    if not request.state.get("cut") or not chunk.get("usage"):
        yield frame
    elif chunk.get("choices"):
        del chunk["usage"]
        yield write_chunk(chunk)


past_calls_uncounted = hooked_fault(
    "past-calls-uncounted",
    "The words of earlier tool calls are not counted in prompt_tokens.",
    answer=_leave_calls_out,
    chunk=_leave_calls_out,
    applies_to=has_parameters("tools"),
)
cut_streams_lack_usage = hooked_fault(
    "cut-streams-lack-usage", "A stream that the token limit ends has no usage.", event=_lose_usage
)
