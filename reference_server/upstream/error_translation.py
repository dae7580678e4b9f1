"""Translation of an upstream's refusals and failures to the dialect's errors, without internal details."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.errors import RETRY_AFTER_S, ApiError
from reference_server.upstream.client.connection import UpstreamFailure, UpstreamUnreachable
from reference_server.upstream.parameters import too_long_phrases

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_server.upstream.foreign_text import ForeignText

_log = logging.getLogger(__name__)

MAX_RETRY_AFTER_S: Final = 86_400
MAX_DEPTH: Final = 8
"""Levels of an error in which a message is looked for."""
BUSY: Final = frozenset({429, 503})
OPERATOR_ERRORS: Final = frozenset({401, 403, 404, 405, 406, 407})
"""Statuses about the gateway's own key, address or model, which no client can correct."""


def translate_refusal(status: int, headers: Mapping[bytes, bytes], body: bytes, foreign: ForeignText) -> ApiError:
    """Return the error for an answer that is not 200."""
    words = read_message(body)
    if status in BUSY:
        return ApiError("overloaded", "the engine behind this server is full: try again later", _retry_after(headers))
    if status == 413:
        return ApiError("too_large", "the body is larger than the engine behind this server accepts: shorten it")
    if 400 <= status < 500 and status not in OPERATOR_ERRORS and status != 408:
        message = foreign.clean(words) or "the engine behind this server refused the request"
        if is_too_long(words):
            return ApiError("prompt_too_long", f"messages: {message}", param="messages")
        return ApiError("invalid_request", message)
    _log.error("the upstream answered %d: %s", status, foreign.clean(words))
    if status in OPERATOR_ERRORS or 300 <= status < 400:
        words = "the engine behind this server refused this server's own request: see the server's log"
        return ApiError("engine_failure", words)
    return ApiError("engine_failure", "the engine behind this server failed on this request: send it again")


def translate_failure(error: UpstreamFailure, foreign: ForeignText, *, begun: bool) -> ApiError:
    """Return the error for an upstream that cannot be asked or did not finish. begun: whether its answer had begun."""
    quoted = f": {foreign.clean(error.quoted)}" if error.quoted else ""
    _log.error("the upstream failed: %s%s", error, quoted)
    if isinstance(error, UpstreamUnreachable) or not begun:
        words = "the engine behind this server cannot be reached: try again later"
        return ApiError("overloaded", words, {"Retry-After": str(RETRY_AFTER_S)})
    return ApiError("engine_failure", "the engine behind this server did not finish the answer: send it again")


def translate_error_event(value: object, foreign: ForeignText) -> ApiError:
    """Return the error for an error event within an upstream's stream.

    vLLM refuses some values only after the head of the stream; the status is then the event's `code`.
    """
    code = _find_code(value)
    if 400 <= code < 500 or code in BUSY:
        return translate_refusal(code, {}, orjson.dumps(value), foreign)
    _log.error("the upstream's stream ended with an error: %s", foreign.clean(_find_message(value)))
    return ApiError("engine_failure", "the engine behind this server did not finish the answer: send it again")


def is_too_long(words: str) -> bool:
    """Whether these words refuse a prompt, alone or together with max_tokens, that is longer than the context."""
    return any(phrase in words for phrase in too_long_phrases())


def read_message(body: bytes) -> str:
    """Return the message in the body of a refusal, or an empty string."""
    try:
        return _find_message(orjson.loads(body))
    except orjson.JSONDecodeError:
        return ""  # for example the HTML page of a proxy


def _find_message(value: Any, depth: int = MAX_DEPTH) -> str:
    """Return the message in an error, for the envelopes that servers use."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and depth:
        return "; ".join(filter(None, (_find_message(item, depth - 1) for item in value[:3])))
    if isinstance(value, dict) and depth:
        for name in ("error", "message", "detail", "msg"):
            if message := _find_message(value.get(name), depth - 1):
                return message
    return ""


def _find_code(value: Any) -> int:
    """Return the HTTP status that an error event states, or 0."""
    error = value.get("error", value) if isinstance(value, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) else 0


def _retry_after(headers: Mapping[bytes, bytes]) -> dict[str, str]:
    """Convert the upstream's Retry-After, seconds or a date (RFC 9110, section 10.2.3), to seconds within bounds."""
    value = headers.get(b"retry-after", b"").decode("latin-1").strip()
    seconds = RETRY_AFTER_S
    if value.isascii() and value.isdigit() and len(value) < 7:
        seconds = int(value)
    else:
        with suppress(ValueError, OverflowError):
            seconds = ceil(parsedate_to_datetime(value).timestamp() - time.time())
    return {"Retry-After": str(min(max(seconds, RETRY_AFTER_S), MAX_RETRY_AFTER_S))}
