"""Classify an answer that has ended: a success, or a failure with a stable name. Does no I/O."""

from __future__ import annotations

import json
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from openapi.schema.quantity import format_quantity
from openapi.server_values import read_name, read_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from loadtests.client.answer import Answer
    from loadtests.client.sse_scan import EventScan

MAX_DETAIL: Final = 200
"""The most characters of a failure's detail."""
MAX_RETRY_AFTER_S: Final = 3600.0
REDIRECTS: Final = range(300, 400)


def classify_error_status(answer: Answer, body: bytes, header: Callable[[str], str | None]) -> None:
    """Classify an answer whose status is not 2xx, with the target of a redirect and the delay of Retry-After."""
    answer.failure = f"http-{answer.status}"
    location = header("location") if answer.status in REDIRECTS else None
    text = body[:MAX_DETAIL].decode(errors="replace")
    answer.detail = text if location is None else f"to {location}: {text}"[:MAX_DETAIL]
    delay_s = _parse_retry_after(header("retry-after") or "", header("date") or "")
    if delay_s is not None:
        answer.retry_after_s = min(max(0.0, delay_s), MAX_RETRY_AFTER_S)


def _parse_retry_after(retry_after: str, date: str) -> float | None:
    """Return the delay in seconds; a date is compared with the server's own clock (RFC 9110, section 10.2.3)."""
    if (seconds := read_seconds(retry_after, MAX_RETRY_AFTER_S)) is not None:
        return seconds
    try:
        return (parsedate_to_datetime(retry_after) - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None


def classify_stream(answer: Answer, scan: EventScan) -> None:
    """Classify a stream: a success has content, no error event and exactly one [DONE]."""
    if scan.error is not None:
        answer.failure, answer.detail = "error-event", json.dumps(scan.error)[:MAX_DETAIL]
    elif not scan.done:
        answer.failure, answer.detail = "no-done", "the stream ended without [DONE]"
    elif scan.done > 1:
        answer.failure, answer.detail = "done-twice", f"the stream had [DONE] {format_quantity(scan.done, 'time')}"
    elif not scan.counts:
        answer.failure, answer.detail = "no-content", "the stream had no content"


def classify_json(answer: Answer, body: bytes) -> None:
    """Classify an answer without streaming, and read its usage and finish reason."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        answer.failure, answer.detail = "no-json", body[:MAX_DETAIL].decode(errors="replace")
        return
    if not isinstance(value, dict) or value.get("error") is not None or "choices" not in value:
        answer.failure, answer.detail = "error-answer", json.dumps(value)[:MAX_DETAIL]
        return
    answer.usage = value["usage"] if isinstance(value.get("usage"), dict) else None
    choices = value["choices"] if isinstance(value["choices"], list) else []
    reasons = [choice.get("finish_reason") for choice in choices if isinstance(choice, dict)]
    answer.finish_reason = read_name(reasons[-1]) if reasons else None
