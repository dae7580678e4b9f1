"""A mutant of text that looks like the end of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.streams import edit_deltas
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("stream.marks-kept", steps="repeated-streamed")
def streams_end_at_a_mark_in_their_text(exchange: Exchange) -> Exchange:
    """A stream ends after a `[DONE]` in its text."""
    return edit_deltas(exchange, lambda delta: delta.update(content=""), slice(3, None))
