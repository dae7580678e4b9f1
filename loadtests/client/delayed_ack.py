"""Decide whether TCP acknowledgements to a server may be delayed, so that one covers two reads. Does no I/O.

By default the kernel acknowledges each event as it is read, which is half of the kernel's cost of a read. With
`TCP_QUICKACK` at 0 it delays acknowledgements and sends one for two reads, as on any connection where both sides
send. But a server that does not set `TCP_NODELAY` holds a small segment back until the last one is acknowledged
(Nagle's algorithm). It would pause for 40 ms, and the load test would report a pause that it caused itself.

So one stream is tried first: nine reads without a gap of 35 ms prove that the server does not wait, and then all
streams delay acknowledgements. Three trials with such a gap end the attempt. Later streams are checked too, as
another server may answer at the same address; if more than 1 in 50 has such a gap, acknowledgements are no longer
delayed. A server that does wait pauses once in a stream, since the kernel then leaves this mode by itself.
"""

from __future__ import annotations

from operator import sub
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

MIN_WAIT_NS: Final = 35_000_000
"""A shorter gap shows that the server did not wait: Linux delays an acknowledgement by 40 ms."""
MAX_TRIALS: Final = 3
"""Trials with a longer gap after which no further one is made. One proves nothing: the gap may be the server's own."""
MAX_PAUSED_SHARE: Final = 0.02
"""The share of a proven server's streams that may have such a gap before acknowledgements are no longer delayed."""


class DelayedAck:
    """What is known about one server.

    A stream for which `may_delay` returned True reports its result by `record_stream` or `abandon_trial`.
    """

    __slots__ = ("_paused", "_prompt", "_trying")

    def __init__(self) -> None:
        self._prompt = 0
        self._paused = 0
        self._trying = False

    def may_delay(self) -> bool:
        """Return whether a stream may delay acknowledgements: any stream of a proven server, else one at a time."""
        if self._paused >= MAX_TRIALS and self._paused > MAX_PAUSED_SHARE * self._prompt:
            return False
        if self._prompt:
            return True
        starts, self._trying = not self._trying, True
        return starts

    def record_stream(self, stamps_ns: Sequence[int]) -> bool:
        """Record the times of a stream's reads; the first is the last read with immediate acknowledgement.

        Return whether this stream is the first proof that the server does not wait.
        """
        self._trying = False
        prompt = max(map(sub, stamps_ns[1:], stamps_ns)) < MIN_WAIT_NS
        self._prompt += prompt
        self._paused += not prompt
        return prompt and self._prompt == 1

    def abandon_trial(self) -> None:
        """Record that a stream ended before it could prove anything."""
        self._trying = False
