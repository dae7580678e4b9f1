"""A batching policy under which reads always wait: on a busy machine events do come together, which would forbid it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loadtests.client.read_batching import PAUSES_NS, ReadBatching

if TYPE_CHECKING:
    from collections.abc import Sequence


class AlwaysBatching(ReadBatching):
    """Lets reads wait for the shortest pause, whatever is recorded."""

    def record_gaps(self, stamps_ns: Sequence[int], coalesced: int) -> None: ...

    def record_turn(self, reads: int, streams: int, now_ns: int) -> None:
        self.pause_ns = PAUSES_NS[-1]
