"""Limits: when a test is hopeless, and ends before its time. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """More failures than these end a test: a share of the requests, once there are `after`, or a number of them. None:
    no such limit."""

    share: float | None
    count: int | None
    after: int

    def passed(self, requests: int, failures: int) -> str | None:
        """The option whose limit has been passed, None while there is hope."""
        if self.count is not None and failures > self.count:
            return f"--give-up-count {self.count}"
        if self.share is not None and requests >= self.after and failures > self.share * requests:
            return f"--give-up-share {self.share:g}"
        return None


@dataclass(frozen=True, slots=True)
class GivenUp:
    """That a test was: how long it had been measured, by which option, and what had come until then."""

    at_s: float
    limit: str
    requests: int
    failures: int
