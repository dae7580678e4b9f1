"""Decide when a test is aborted because of its failures. Does no I/O."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AbortLimits:
    """The failures above which a test is aborted.

    share: of the requests, once there are `after`. count: a number of requests. None: no such limit.
    """

    share: float | None
    count: int | None
    after: int

    def exceeded(self, requests: int, failures: int) -> str | None:
        """Return the option whose limit is exceeded, None if no limit is exceeded."""
        if self.count is not None and failures > self.count:
            return f"--give-up-count {self.count}"
        if self.share is not None and requests >= self.after and failures > self.share * requests:
            return f"--give-up-share {self.share:g}"
        return None


@dataclass(frozen=True, slots=True)
class Aborted:
    """When and why a test was aborted: the measured time, the option, and the counts until then."""

    at_s: float
    limit: str
    requests: int
    failures: int
