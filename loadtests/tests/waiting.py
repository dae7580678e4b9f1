"""A pace at which reads wait for one another, whatever was seen: on a busy machine events do come together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loadtests.client.read_batching import PAUSES_NS, Pace

if TYPE_CHECKING:
    from collections.abc import Sequence


class Waiting(Pace):
    """Lets reads wait for the shortest pause."""

    def saw(self, stamps_ns: Sequence[int], coalesced: int) -> None: ...

    def turned(self, reads: int, streams: int, now_ns: int) -> None:
        self.pause_ns = PAUSES_NS[-1]
