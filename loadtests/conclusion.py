"""The conclusion: what an answer that has ended is, a success or a failure of which name. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from loadtests.answer import Answer
    from loadtests.scan import Scan

DETAIL: Final = 200
"""Characters of a failure's detail."""
LONGEST_WAIT_S: Final = 3600.0


def refused(answer: Answer, body: bytes, retry_after: str) -> None:
    """An answer by its status alone, and how long its server wants to be left in peace."""
    answer.failure = f"http-{answer.status}"
    answer.detail = body[:DETAIL].decode(errors="replace")
    if retry_after.isascii() and retry_after.isdigit():
        answer.retry_after_s = min(float(retry_after), LONGEST_WAIT_S)


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
    reasons = [each.get("finish_reason") for each in choices if isinstance(each, dict)]
    answer.finish_reason = reasons[-1] if reasons and isinstance(reasons[-1], str) else None
