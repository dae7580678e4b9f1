"""ApiError, the client's mistakes, and the one way from any failure to the dialect's envelope."""

from __future__ import annotations

import logging
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response

from reference_server.engine import ChatTemplateError, EngineError, PromptTooLong, Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.contract.contract import ErrorTable

MESSAGE_LIMIT_BYTES: Final = 1024
RETRY_AFTER_S: Final = 1
_log = logging.getLogger(__name__)


class ApiError(Exception):
    """A request that is refused. `kind` is a row of the contract's error table, `message` what the client reads.

    param: the parameter that is to blame, where it is one.
    """

    def __init__(
        self, kind: str, message: str, headers: Mapping[str, str] | None = None, *, param: str | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.headers = dict(headers or {})
        self.param = param


def as_api_error(error: Exception) -> ApiError:
    """What a client is told of a failure: only an ApiError speaks for itself.

    Whatever is not the client's mistake is logged here and reaches it without a word of our insides.
    """
    if isinstance(error, ApiError):
        return error
    if isinstance(error, HTTPException):
        return _routing_error(error)
    if isinstance(error, PromptTooLong):
        fits = f"at most {error.limit} fit"
        words = f"messages: the prompt has {error.prompt_tokens} tokens and {fits}: shorten it"
        return ApiError("prompt_too_long", words, param="messages")
    if isinstance(error, ChatTemplateError):
        words = "messages: the model's chat template cannot take this conversation"
        return ApiError("invalid_request", words, param="messages")
    if isinstance(error, Unavailable):
        return unavailable()
    if isinstance(error, EngineError):
        _log.error("the engine failed: %s", error)
        return ApiError("engine_failure", "the engine could not go on with this request: send it again")
    _log.error("unexpected failure", exc_info=error)
    return ApiError("engine_failure", "the server failed on this request; its log says more")


def unavailable() -> ApiError:
    """The refusal of a request that the engine may well take in a while."""
    later = {"Retry-After": str(RETRY_AFTER_S)}
    return ApiError("overloaded", "the engine cannot take this request now: try again later", later)


def _routing_error(error: HTTPException) -> ApiError:
    if error.status_code == 405:
        allowed = ", ".join(sorted({*(error.headers or {}).get("Allow", "").split(", "), "OPTIONS"}))
        return ApiError("method_not_allowed", f"the path takes {allowed} only", {"Allow": allowed})
    return ApiError("not_found", "there is no such path; GET /openapi.json lists them")


def response_to(table: ErrorTable, error: Exception) -> Response:
    """The refusal of a request as the dialect writes it."""
    refusal = as_api_error(error)
    status, body = envelope(table, refusal)
    return Response(body, status, refusal.headers, media_type="application/json")


def envelope(table: ErrorTable, error: ApiError) -> tuple[int, bytes]:
    """Status and body of a refusal; the message takes at most 1 KiB."""
    status, body = table.render(error.kind, shortened(error.message), error.param)
    return status, orjson.dumps(body)


def transport_refusal(table: ErrorTable, status: int, message: str) -> bytes:
    """The body of a refusal by HTTP itself, before there is a request, as of a head that is too long.

    No dialect has a row for that. So the row of a body that is too large is taken, with this status; where the phrase
    or the code of that row only repeats its status, they repeat this one.
    """
    row = table.kinds["too_large"]
    named = table.kinds["method_not_allowed"].phrase == HTTPStatus.METHOD_NOT_ALLOWED.phrase
    told = replace(
        row,
        status=status,
        phrase=HTTPStatus(status).phrase if named else row.phrase,
        code=status if row.code == row.status else row.code,
    )
    return orjson.dumps(replace(table, kinds={"refused": told}).render("refused", message)[1])


def shortened(message: str) -> str:
    """The message, cut between two characters so that it takes at most 1 KiB as UTF-8."""
    raw = message.encode()
    if len(raw) <= MESSAGE_LIMIT_BYTES:
        return message
    return raw[: MESSAGE_LIMIT_BYTES - 3].decode(errors="ignore") + "..."
