"""Describe the progress of a test."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadtests.run.session import Session


def measured_s(session: Session) -> float:
    """Return the seconds measured so far: after the warm-up, and at most the requested time."""
    if not session.began_ns:
        return 0.0
    passed_s = ((session.ended_ns or time.monotonic_ns()) - session.began_ns) / 1e9
    return min(session.settings.seconds, max(0.0, passed_s))


def describe_progress(session: Session) -> str:
    """Describe the progress in words; return an empty string if the test has ended."""
    if session.refusal:
        return f"not started: {session.refusal}"
    if not session.began_ns:
        return "no test has been started"
    if session.ended_ns:
        return ""
    ahead_s = (session.began_ns - time.monotonic_ns()) / 1e9
    if ahead_s > 0:
        return f"warming up, {ahead_s:.0f} s left"
    if (passed_s := measured_s(session)) < session.settings.seconds:
        return f"running: {passed_s:.0f} of {session.settings.seconds:g} s"
    return "waiting for answers in flight"
