"""Receipts: whether TCP acknowledgements to a server may be held back, so that one stands for two reads. Pure.

The kernel acknowledges each event while we read it, which is half of what a read costs. It can hold receipts back and
let one stand for two reads, as it does by itself on a connection where both sides talk. But a server that does not set
TCP_NODELAY keeps a small segment until the last one is acknowledged (Nagle's algorithm): it would then pause for 40 ms,
and we would report a pause of our own making. So one stream is tried first and has to prove that its server does not
wait. Later streams are looked at too, as another server may have the same address.
"""

from __future__ import annotations

from operator import sub
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

SHORTEST_WAIT_NS: Final = 35_000_000
"""A gap that is shorter shows that the server did not wait: Linux holds a receipt back for 40 ms."""
TRIALS: Final = 3
"""After so many streams with a longer gap no further one is tried. One proves nothing: the gap may be the server's."""
PAUSED_SHARE: Final = 0.02
"""How many of a proven server's streams may have such a gap before receipts are sent again."""


class Receipts:
    """What is known of one server. A stream to which `may_begin` said yes tells what came of it: `saw` or `gave_up`."""

    __slots__ = ("_paused", "_prompt", "_trying")

    def __init__(self) -> None:
        self._prompt = 0
        self._paused = 0
        self._trying = False

    def may_begin(self) -> bool:
        """Whether a stream's receipts may be held back: any stream's of a proven server, else one's at a time."""
        if self._paused >= TRIALS and self._paused > PAUSED_SHARE * self._prompt:
            return False
        if self._prompt:
            return True
        begins, self._trying = not self._trying, True
        return begins

    def saw(self, stamps_ns: Sequence[int]) -> bool:
        """Judges a stream by the times of its reads, the first being the last one before its receipts were held back.

        Returns whether this is the server's first proof.
        """
        self._trying = False
        prompt = max(map(sub, stamps_ns[1:], stamps_ns)) < SHORTEST_WAIT_NS
        self._prompt += prompt
        self._paused += not prompt
        return prompt and self._prompt == 1

    def gave_up(self) -> None:
        """A stream ended before there was anything to see."""
        self._trying = False
