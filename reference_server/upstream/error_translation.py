"""An upstream's refusal or failure as what the client reads: the dialect's own error, nothing of others' insides."""

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
from reference_server.upstream.connection import Unreachable, UpstreamFailure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_server.upstream.kind import Kind

_log = logging.getLogger(__name__)

MOST_WORDS: Final = 500
LONGEST_WAIT_S: Final = 86_400
LOGGED: Final = 200
ADDRESS: Final = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\b[\w.-]+:\d{2,5}\b", re.I)
PATH: Final = re.compile(r"(?<![\w.])/(?:[\w.-]+/)+[\w.-]*")
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")
BUSY: Final = frozenset({429, 503})
OPERATORS_OWN: Final = frozenset({401, 403, 404, 405, 406, 407})
"""Statuses that speak of the gateway's key, address or model: nothing a client could mend."""


def refusal(kind: Kind, status: int, headers: Mapping[bytes, bytes], body: bytes, names: Mapping[str, str]) -> ApiError:
    """What a client is told of an answer that is not 200. names: words of the upstream, and what to say instead."""
    words = _words(body)
    if status in BUSY:
        return ApiError("overloaded", "the engine behind this server is full: try again later", _retry_after(headers))
    if status == 413:
        return ApiError("too_large", "the body is larger than the engine behind this server takes: shorten it")
    if 400 <= status < 500 and status not in OPERATORS_OWN and status != 408:
        message = cleaned(words, names) or "the engine behind this server refuses the request"
        too_long = any(each in words for each in kind.too_long)
        return ApiError("prompt_too_long" if too_long else "invalid_request", message)
    _log.error("the upstream answered %d: %s", status, CONTROL.sub(" ", words)[:LOGGED])
    if status in OPERATORS_OWN or 300 <= status < 400:
        return ApiError("engine_failure", "the engine behind this server refuses the server itself; its log says more")
    return ApiError("engine_failure", "the engine behind this server failed on this request: send it again")


def failure(error: UpstreamFailure, *, begun: bool) -> ApiError:
    """What a client is told of an upstream that could not be asked or did not finish. begun: it had begun to answer."""
    _log.error("the upstream failed: %s", error)
    if isinstance(error, Unreachable) or not begun:
        words = "the engine behind this server cannot be reached: try again later"
        return ApiError("overloaded", words, {"Retry-After": str(RETRY_AFTER_S)})
    return ApiError("engine_failure", "the engine behind this server did not finish the answer: send it again")


def error_event(value: object) -> ApiError:
    """What a client is told of an error in the midst of a stream."""
    _log.error("the upstream's stream ended with an error: %s", CONTROL.sub(" ", _said(value))[:LOGGED])
    return ApiError("engine_failure", "the engine behind this server did not finish the answer: send it again")


def cleaned(words: str, names: Mapping[str, str]) -> str:
    """The words without control characters, addresses and paths of files, no longer than a message should be."""
    for name, instead in names.items():
        if name:  # only as a word of its own: a part of another word is another name
            words = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", instead.replace("\\", "\\\\"), words)
    words = PATH.sub("...", ADDRESS.sub("...", CONTROL.sub(" ", words)))
    return words if len(words) <= MOST_WORDS else words[: MOST_WORDS - 3] + "..."


def _words(body: bytes) -> str:
    try:
        return _said(orjson.loads(body))
    except orjson.JSONDecodeError:
        return ""  # a page of some proxy


def _said(value: Any) -> str:
    """The message of an error, in the envelopes that servers have."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "; ".join(filter(None, map(_said, value[:3])))
    if isinstance(value, dict):
        for name in ("error", "message", "detail", "msg"):
            if found := _said(value.get(name)):
                return found
    return ""


def _retry_after(headers: Mapping[bytes, bytes]) -> dict[str, str]:
    """The upstream's Retry-After, seconds or a date (RFC 9110, section 10.2.3), as seconds within our bounds."""
    value = headers.get(b"retry-after", b"").decode("latin-1").strip()
    seconds = RETRY_AFTER_S
    if value.isascii() and value.isdigit() and len(value) < 7:
        seconds = int(value)
    else:
        with suppress(ValueError, OverflowError):
            seconds = ceil(parsedate_to_datetime(value).timestamp() - time.time())
    return {"Retry-After": str(min(max(seconds, RETRY_AFTER_S), LONGEST_WAIT_S))}
