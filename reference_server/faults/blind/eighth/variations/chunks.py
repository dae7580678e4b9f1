"""Variations of streams: several pieces of text in one chunk, segments that end anywhere, and ids of calls."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.frame_recipes import merging_text, replacing_call_ids
from reference_server.faults.decorators import has_parameters, variation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from reference_server.faults.hooks import ServedRequest

TOGETHER: Final = 6  # pieces
SEGMENT: Final = 11  # bytes


async def _cut(body: bytes, _request: ServedRequest) -> AsyncIterator[bytes]:
    """Yield the events in segments of one size."""
    for start in range(0, len(body), SEGMENT):
        yield body[start : start + SEGMENT]
        await asyncio.sleep(0)


def _name_call(call_id: str) -> str:
    """Return an id like those of another vendor."""
    return f"toolu_01{sha256(call_id.encode()).hexdigest()[:22]}"


use_other_ids = replacing_call_ids(_name_call)

six_pieces_in_a_chunk = variation(
    "six-pieces-in-a-chunk", "Six pieces of text come in one chunk.", event=merging_text(TOGETHER)
)
streams_in_segments = variation(
    "streams-in-segments", "Streams are sent in segments of 11 bytes, which end anywhere in an event.", pieces=_cut
)
call_ids_of_another_vendor = variation(
    "call-ids-of-another-vendor",
    "Ids of calls begin with `toolu_01`.",
    answer=use_other_ids,
    chunk=use_other_ids,
    applies_to=has_parameters("tools"),
)
