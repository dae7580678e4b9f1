"""Receipts: whether a server may wait a little for our acknowledgements. Pure.

The kernel acknowledges what we read while we read it, event by event, which is half of what a read costs. It can let
one receipt stand for two reads, as it does by itself for a connection on which both sides talk. A server whose system
holds a small segment back until the last one is acknowledged (Nagle's algorithm, without TCP_NODELAY) would then pause
for 40 ms, and we would report a pause of our own making. So a server proves first that it does not wait, on one stream;
and streams go on being looked at, as another server may have the same address.
"""

from __future__ import annotations

from operator import sub
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

SHORTEST_WAIT_NS: Final = 35_000_000
"""Gaps below show that nobody waited: Linux sends a receipt that it holds back after 40 ms, never sooner."""
TRIALS: Final = 3
"""Streams with a longer gap after which no further one is tried; it may have been the server's own."""
PAUSED_SHARE: Final = 0.02
"""Of streams without receipts, how many may have such a gap, once the server is proven."""


class Receipts:
    """What is known of one server. A stream that `may_begin` tells what came of it, by `saw` or `gave_up`."""

    __slots__ = ("_paused", "_prompt", "_trying")

    def __init__(self) -> None:
        self._prompt = 0
        self._paused = 0
        self._trying = False

    def may_begin(self) -> bool:
        """Whether a stream's receipts may be held back from now on: every one's of a proven server, else one's."""
        if self._paused >= TRIALS and self._paused > PAUSED_SHARE * self._prompt:
            return False
        if self._prompt:
            return True
        begins, self._trying = not self._trying, True
        return begins

    def saw(self, stamps_ns: Sequence[int]) -> bool:
        """Looks at the times of a stream's reads, from the last one before its receipts were held back; whether this
        is the proof."""
        self._trying = False
        prompt = max(map(sub, stamps_ns[1:], stamps_ns)) < SHORTEST_WAIT_NS
        self._prompt += prompt
        self._paused += not prompt
        return prompt and self._prompt == 1

    def gave_up(self) -> None:
        """A stream ended before there was anything to see."""
        self._trying = False
