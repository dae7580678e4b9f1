"""Blind faults of streams: usage after the end, last words that are lost, and ids that change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.frame_recipes import holding_back, read_chunk
from reference_server.faults.decorators import has_parameters, hooked_fault, message_of
from reference_server.faults.hooks import DONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest


def _send_usage_last(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Count after the end. Violates include_usage: the chunk comes before `[DONE]`."""
    chunk = read_chunk(frame)
    if chunk.get("usage") and not chunk.get("choices"):
        request.state["usage"] = frame
        return
    yield frame
    if frame == DONE and "usage" in request.state:
        yield request.state["usage"]


def _goes_on(choice: Json) -> bool:
    return bool(message_of(choice).get("content")) and not choice.get("finish_reason")


def _is_cut(choice: Json) -> bool:
    return choice.get("finish_reason") == "length"


def _number_usage(chunk: Json, _request: ServedRequest) -> None:
    """Make another id. Violates id: each chunk has the same."""
    if isinstance(chunk.get("id"), str) and chunk.get("usage") and not chunk.get("choices"):
        chunk["id"] += "-usage"


usage_follows_done = hooked_fault(
    "usage-follows-done",
    "The chunk with the usage comes after `[DONE]`.",
    event=_send_usage_last,
    applies_to=has_parameters("stream_options"),
)
# Violates delta.content: the deltas are the whole answer.
last_words_lost_at_the_limit = hooked_fault(
    "last-words-lost-at-the-limit",
    "A stream that the token limit ends lacks its last piece of text.",
    event=holding_back(_goes_on, _is_cut),
)
usage_chunks_have_other_ids = hooked_fault(
    "usage-chunks-have-other-ids",
    "The chunk with the usage has another id than the others of its stream.",
    chunk=_number_usage,
    applies_to=has_parameters("stream_options"),
)
