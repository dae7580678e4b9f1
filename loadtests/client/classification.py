"""The conclusion: what an answer that has ended is, a success or a failure of which name. Pure."""

from __future__ import annotations

import json
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from loadtests.client.answer import Answer
    from loadtests.client.sse_scan import Scan

DETAIL: Final = 200
"""Characters of a failure's detail."""
LONGEST_WAIT_S: Final = 3600.0
REDIRECTS: Final = range(300, 400)


def of_refusal(answer: Answer, body: bytes, header: Callable[[str], str | None]) -> None:
    """An answer by its status alone: where it points, and how long its server wants to be left in peace."""
    answer.failure = f"http-{answer.status}"
    place = header("location") if answer.status in REDIRECTS else None
    words = body[:DETAIL].decode(errors="replace")
    answer.detail = words if place is None else f"to {place}: {words}"[:DETAIL]
    wait_s = _wait_s(header("retry-after") or "", header("date") or "")
    if wait_s is not None:
        answer.retry_after_s = min(max(0.0, wait_s), LONGEST_WAIT_S)


def _wait_s(retry_after: str, date: str) -> float | None:
    """Seconds, or a time that is held against the server's own clock (RFC 9110, section 10.2.3)."""
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    try:
        return (parsedate_to_datetime(retry_after) - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError):
        return None


def of_stream(answer: Answer, scan: Scan) -> None:
    """A stream: it holds content, no error, and ends once."""
    if scan.error is not None:
        answer.failure, answer.detail = "error-event", json.dumps(scan.error)[:DETAIL]
    elif not scan.done:
        answer.failure, answer.detail = "no-done", "the stream ended without [DONE]"
    elif scan.done > 1:
        answer.failure, answer.detail = "done-twice", f"{scan.done} times [DONE]"
    elif not scan.counts:
        answer.failure, answer.detail = "no-content", "the stream held no content"


def of_plain(answer: Answer, body: bytes) -> None:
    """An answer in one piece, with its usage and its finish reason."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        answer.failure, answer.detail = "no-json", body[:DETAIL].decode(errors="replace")
        return
    if not isinstance(value, dict) or value.get("error") is not None or "choices" not in value:
        answer.failure, answer.detail = "error-answer", json.dumps(value)[:DETAIL]
        return
    answer.usage = value["usage"] if isinstance(value.get("usage"), dict) else None
    choices = value["choices"] if isinstance(value["choices"], list) else []
    reasons = [choice.get("finish_reason") for choice in choices if isinstance(choice, dict)]
    answer.finish_reason = reasons[-1] if reasons and isinstance(reasons[-1], str) else None
