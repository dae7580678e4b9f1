"""Blind faults of streams: the model in their last chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import choices_of, envelope_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _lose_model(chunk: Json, _request: ServedRequest) -> None:
    """Build the last chunk from nothing. Violates model: that of the answer, in each chunk."""
    if "model" in chunk and any(choice.get("finish_reason") for choice in choices_of(chunk)):
        chunk["model"] = ""


last_chunks_name_no_model = envelope_fault(
    "last-chunks-name-no-model",
    _lose_model,
    "In the chunk with the finish reason, the name of the model is empty.",
    plain=False,
)
