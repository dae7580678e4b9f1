"""Blind faults of streams: last chunks without a delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import choices_of, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _drop_empty_delta(chunk: Json, _request: ServedRequest) -> None:
    """Leave out what is empty. Violates delta, which each choice of a chunk has."""
    for choice in choices_of(chunk):
        said = choice.get("delta") or {}
        if choice.get("finish_reason") and not any(value for name, value in said.items() if name != "role"):
            choice.pop("delta", None)


finish_chunks_lack_their_delta = hooked_fault(
    "finish-chunks-lack-their-delta",
    "The choice of the chunk with the finish reason lacks its delta if that is empty.",
    chunk=_drop_empty_delta,
)
