"""Errors that clients see, and the conversion of any failure to the dialect's error envelope."""

from __future__ import annotations

import logging
import traceback
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response

from reference_server.engine import ChatTemplateError, EngineError, PromptTooLong, Unavailable, Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.contract.contract import ErrorTable

MESSAGE_LIMIT_BYTES: Final = 1024
RETRY_AFTER_S: Final = 1
LOGGED_FRAMES: Final = 20
"""Last frames of a traceback in the log. An endless recursion has thousands."""

_log = logging.getLogger(__name__)


class ApiError(Exception):
    """A request that is refused.

    kind: a row of the contract's error table.
    message: what the client reads.
    headers: extra headers of the response.
    param: the invalid parameter, if the error is about one.
    """

    def __init__(
        self, kind: str, message: str, headers: Mapping[str, str] | None = None, *, param: str | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.headers = dict(headers or {})
        self.param = param


def to_api_error(error: Exception) -> ApiError:
    """Convert any failure to the error that the client gets.

    A failure that the client did not cause is logged here, and its message contains no internal details.
    """
    if isinstance(error, ApiError):
        return error
    if isinstance(error, HTTPException):
        return _routing_error(error)
    if isinstance(error, PromptTooLong):
        return ApiError("prompt_too_long", f"messages: {error}", param="messages")
    if isinstance(error, Unsatisfiable):
        return ApiError("invalid_request", f"the answer cannot continue: {error}")
    if isinstance(error, ChatTemplateError):
        words = "messages: the model's chat template cannot render this conversation"
        return ApiError("invalid_request", words, param="messages")
    if isinstance(error, Unavailable):
        return overloaded_error()
    if isinstance(error, EngineError):
        _log.error("the engine failed: %s", error)
        return ApiError("engine_failure", "the engine failed on this request: send it again")
    _log.error("unexpected failure\n%s", "".join(traceback.format_exception(error, limit=-LOGGED_FRAMES)).rstrip())
    return ApiError("engine_failure", "the server failed on this request: see the server's log")


def overloaded_error() -> ApiError:
    """The refusal of a request that the engine can probably take a little later."""
    later = {"Retry-After": str(RETRY_AFTER_S)}
    return ApiError("overloaded", "the engine cannot take this request now: try again later", later)


def _routing_error(error: HTTPException) -> ApiError:
    if error.status_code == 405:
        allowed = ", ".join(sorted({*(error.headers or {}).get("Allow", "").split(", "), "OPTIONS"}))
        return ApiError("method_not_allowed", f"this path accepts only {allowed}", {"Allow": allowed})
    return ApiError("not_found", "unknown path: GET /openapi.json lists the paths")


def error_response(table: ErrorTable, error: Exception) -> Response:
    """Build the HTTP response for a failure, in the dialect's envelope."""
    refusal = to_api_error(error)
    status, body = render_error(table, refusal)
    return Response(body, status, refusal.headers, media_type="application/json")


def render_error(table: ErrorTable, error: ApiError) -> tuple[int, bytes]:
    """Return the status and the body of an error; the message is cut to 1 KiB."""
    status, body = table.render(error.kind, truncate_message(error.message), error.param)
    return status, orjson.dumps(body)


def transport_error_body(table: ErrorTable, status: int, message: str) -> bytes:
    """Render the body of an error that HTTP itself raises before a request is complete, such as an oversized head.

    No dialect defines these errors, so the row for an oversized body is used with this status. If the phrase or the
    code of that row only repeats its status, they are replaced with those of this status.
    """
    row = table.kinds["too_large"]
    named = table.kinds["method_not_allowed"].phrase == HTTPStatus.METHOD_NOT_ALLOWED.phrase
    refused = replace(
        row,
        status=status,
        phrase=HTTPStatus(status).phrase if named else row.phrase,
        code=status if row.code == row.status else row.code,
    )
    return orjson.dumps(replace(table, kinds={"refused": refused}).render("refused", message)[1])


def truncate_message(message: str) -> str:
    """Cut a message between two characters so that it takes at most 1 KiB as UTF-8."""
    raw = message.encode()
    if len(raw) <= MESSAGE_LIMIT_BYTES:
        return message
    return raw[: MESSAGE_LIMIT_BYTES - 3].decode(errors="ignore") + "..."
