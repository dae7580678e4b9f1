"""Variations of streams: several pieces of text in one chunk, segments of many events, and ids of calls."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.frame_recipes import merging_text, replacing_call_ids
from reference_server.faults.decorators import has_parameters, variation

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from reference_server.faults.hooks import ServedRequest

TOGETHER: Final = 3  # pieces


async def _cut_before_ends(body: bytes, _request: ServedRequest) -> AsyncIterator[bytes]:
    """Yield the last line end of what is sent by itself."""
    yield body[:-1]
    yield body[-1:]


def _name_call(call_id: str) -> str:
    """Return an id with as many characters as a hash."""
    return sha256(call_id.encode()).hexdigest()


use_hashes = replacing_call_ids(_name_call)

three_pieces_in_a_chunk = variation(
    "three-pieces-in-a-chunk", "Three pieces of text come in one chunk.", event=merging_text(TOGETHER)
)
blank_lines_in_segments = variation(
    "blank-lines-in-segments", "The line end after each event of a stream is sent by itself.", pieces=_cut_before_ends
)
call_ids_of_hashes = variation(
    "call-ids-of-hashes",
    "Ids of calls have 64 hexadecimal digits.",
    answer=use_hashes,
    chunk=use_hashes,
    applies_to=has_parameters("tools"),
)
