"""Translation of an upstream's refusals and failures to the dialect's errors, without internal details."""

from __future__ import annotations

import logging
import re
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.errors import RETRY_AFTER_S, ApiError
from reference_server.upstream.connection import UpstreamFailure, UpstreamUnreachable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_server.upstream.kind import UpstreamKind

_log = logging.getLogger(__name__)

MAX_MESSAGE_LENGTH: Final = 500
MAX_RETRY_AFTER_S: Final = 86_400
LOGGED: Final = 200
ADDRESS: Final = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\b[\w.-]+:\d{2,5}\b", re.I)
PATH: Final = re.compile(r"(?<![\w.])/(?:[\w.-]+/)+[\w.-]*")
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")
BUSY: Final = frozenset({429, 503})
OPERATOR_ERRORS: Final = frozenset({401, 403, 404, 405, 406, 407})
"""Statuses about the gateway's own key, address or model, which no client can correct."""


def translate_refusal(
    kind: UpstreamKind, status: int, headers: Mapping[bytes, bytes], body: bytes, replacements: Mapping[str, str]
) -> ApiError:
    """Return the error for an answer that is not 200.

    replacements: names of the upstream that no client should see, and what to write instead.
    """
    words = _parse_message(body)
    if status in BUSY:
        return ApiError("overloaded", "the engine behind this server is full: try again later", _retry_after(headers))
    if status == 413:
        return ApiError("too_large", "the body is larger than the engine behind this server accepts: shorten it")
    if 400 <= status < 500 and status not in OPERATOR_ERRORS and status != 408:
        message = clean_message(words, replacements) or "the engine behind this server refused the request"
        too_long = any(phrase in words for phrase in kind.too_long)
        return ApiError("prompt_too_long" if too_long else "invalid_request", message)
    _log.error("the upstream answered %d: %s", status, CONTROL.sub(" ", words)[:LOGGED])
    if status in OPERATOR_ERRORS or 300 <= status < 400:
        words = "the engine behind this server refused this server's own request: see the server's log"
        return ApiError("engine_failure", words)
    return ApiError("engine_failure", "the engine behind this server failed on this request: send it again")


def translate_failure(error: UpstreamFailure, *, begun: bool) -> ApiError:
    """Return the error for an upstream that cannot be asked or did not finish. begun: whether its answer had begun."""
    _log.error("the upstream failed: %s", error)
    if isinstance(error, UpstreamUnreachable) or not begun:
        words = "the engine behind this server cannot be reached: try again later"
        return ApiError("overloaded", words, {"Retry-After": str(RETRY_AFTER_S)})
    return ApiError("engine_failure", "the engine behind this server did not finish the answer: send it again")


def translate_error_event(value: object) -> ApiError:
    """Return the error for an error event within an upstream's stream."""
    _log.error("the upstream's stream ended with an error: %s", CONTROL.sub(" ", _find_message(value))[:LOGGED])
    return ApiError("engine_failure", "the engine behind this server did not finish the answer: send it again")


def clean_message(words: str, replacements: Mapping[str, str]) -> str:
    """Return a message without control characters, addresses and file paths, cut to the maximum length."""
    for name, replacement in replacements.items():
        if name:  # only as a word of its own: as a part of another word it is another name
            words = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", replacement.replace("\\", "\\\\"), words)
    words = PATH.sub("...", ADDRESS.sub("...", CONTROL.sub(" ", words)))
    return words if len(words) <= MAX_MESSAGE_LENGTH else words[: MAX_MESSAGE_LENGTH - 3] + "..."


def _parse_message(body: bytes) -> str:
    try:
        return _find_message(orjson.loads(body))
    except orjson.JSONDecodeError:
        return ""  # for example the HTML page of a proxy


def _find_message(value: Any) -> str:
    """Return the message in an error, for the envelopes that servers use."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "; ".join(filter(None, map(_find_message, value[:3])))
    if isinstance(value, dict):
        for name in ("error", "message", "detail", "msg"):
            if message := _find_message(value.get(name)):
                return message
    return ""


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
