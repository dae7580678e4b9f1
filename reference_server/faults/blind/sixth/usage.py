"""Blind faults of token counts: of streams, and of several choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import is_whole
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

MOST = 2**31


def _drop_total(chunk: Json, _request: ServedRequest) -> None:
    """Leave out the sum. Violates usage.total_tokens, which a stream has too."""
    if isinstance(chunk.get("usage"), dict):
        chunk["usage"].pop("total_tokens", None)


def _count_last_choice(chunk: Json, request: ServedRequest) -> None:
    """Count one choice. Violates usage.completion_tokens: the tokens in the answer."""
    number, usage = request.payload.get("n"), chunk.get("usage")
    if not (isinstance(number, int) and is_whole(number, 2, MOST)):
        return
    for choice in choices_of(chunk):
        index = str(choice.get("index"))
        request.state[index] = request.state.get(index, 0) + (choice.get("finish_reason") is None)
    if isinstance(usage, dict) and not chunk.get("choices"):
        usage["completion_tokens"] = request.state.get(str(number - 1), 0)
        usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]


streamed_usage_lacks_the_total = hooked_fault(
    "streamed-usage-lacks-the-total", "The usage of a stream has no total_tokens.", chunk=_drop_total
)
last_choice_counted_in_streams = hooked_fault(
    "last-choice-counted-in-streams",
    "The usage of a stream with several choices counts the tokens of the last one.",
    chunk=_count_last_choice,
    applies_to=has_parameters("n", "stream_options"),
)
