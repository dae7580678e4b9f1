"""Blind faults of HTTP, SSE and JSON: schemes in small letters, comments in answers, and ends of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.decorators import hooked_fault, wrapping_fault
from reference_server.faults.hooks import DONE, CannedResponse
from reference_server.faults.http_gate import answer_matching, header_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ServedRequest
    from reference_server.faults.http_gate import App

SCHEME: Final = b"bearer "
COMMENT: Final = b": keep-alive\n\n"
SLOW_TOKENS: Final = 24


@wrapping_fault("schemes-in-small-letters-refused", applies_to=lambda contract: contract.auth == "bearer")
def schemes_in_small_letters_refused(app: ASGIApp, contract: Contract) -> App:
    """A key after `bearer` in small letters is refused with 401, although schemes have no case."""
    status, body = contract.errors.render("invalid_key", "invalid authorization header")
    refused = CannedResponse(status, orjson.dumps(body))
    return answer_matching(app, lambda scope: header_of(scope, b"authorization").startswith(SCHEME), refused)


def _comment(body: bytes, _request: ServedRequest) -> bytes:
    """Keep a slow connection open like a stream. Violates the form of a plain answer, which is JSON."""
    usage: Any = orjson.loads(body).get("usage") or {}
    return COMMENT + body if usage.get("completion_tokens", 0) >= SLOW_TOKENS else body


def _cut_last_line_end(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """End with one line end. By the rules of SSE, an event without a blank line after it does not count."""
    yield frame[:-1] if frame == DONE else frame


slow_answers_begin_with_comments = hooked_fault(
    "slow-answers-begin-with-comments",
    "A plain answer of 24 and more tokens follows a comment like those of streams.",
    plain=_comment,
)
done_lacks_its_blank_line = hooked_fault(
    "done-lacks-its-blank-line", "No blank line follows `[DONE]`.", event=_cut_last_line_end
)
