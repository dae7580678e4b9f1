"""What is refused before the body is read as JSON: the key, the type and size of the body, one request too many."""

from __future__ import annotations

import hmac
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from starlette.requests import ClientDisconnect

from reference_server.errors import RETRY_AFTER_S, ApiError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.datastructures import Headers
    from starlette.types import Receive, Scope

JSON_TYPES: Final = frozenset({"application/json", "text/json"})
JSON_CHARSETS: Final = frozenset({"utf-8", "utf8", "us-ascii"})
SCHEME: Final = b"bearer"


class KeyCheck:
    """Compares keys in constant time, so that the time of a refusal says nothing of the key."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def admit(self, scope: Scope) -> None:
        """Raises ApiError: unauthorized without a bearer key, invalid_key with a wrong one."""
        sent = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, key = sent[0].partition(b" ") if len(sent) == 1 else (b"", b"", b"")
        key = key.strip()
        if scheme.lower() != SCHEME or not key:
            raise ApiError(
                "unauthorized",
                "no API key: send one header `Authorization: Bearer KEY`",
                {"WWW-Authenticate": "Bearer"},
            )
        if not hmac.compare_digest(key, self._key):
            raise ApiError("invalid_key", "the API key is wrong", {"WWW-Authenticate": 'Bearer error="invalid_token"'})


class Places:
    """The bounded number of requests in flight."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.taken = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """A place for as long as the context lasts; raises ApiError overloaded when all are taken."""
        if self.taken >= self._limit:
            raise ApiError(
                "overloaded",
                f"the server is full with {self._limit} requests: try again later",
                {"Retry-After": str(RETRY_AFTER_S)},
            )
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1


def check_type(headers: Headers) -> None:
    """Raises ApiError unsupported_media_type for a body that is clearly something else than plain JSON in UTF-8.

    A missing Content-Type is forgiven: the path takes nothing else.
    """
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        raise ApiError("unsupported_media_type", "the body is compressed: send it without Content-Encoding")
    kind, _, parameters = headers.get("content-type", "").partition(";")
    if kind.strip() and kind.strip().lower() not in JSON_TYPES:
        raise ApiError("unsupported_media_type", "the body must be application/json: say so in Content-Type")
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip(' "').lower() not in JSON_CHARSETS:
            raise ApiError("unsupported_media_type", "the body must be UTF-8: leave the charset out of Content-Type")


async def read_body(headers: Headers, receive: Receive, limit_bytes: int) -> bytes:
    """The body, counted while it arrives whatever Content-Length says.

    Raises ApiError too_large as soon as the limit is passed, and ClientDisconnect.
    """
    length = headers.get("content-length", "")
    if length.isascii() and length.isdigit() and len(length) < 20 and int(length) > limit_bytes:
        raise _too_large(limit_bytes)
    parts: list[bytes] = []
    read = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part = message.get("body", b"")
        read += len(part)
        if read > limit_bytes:
            raise _too_large(limit_bytes)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_large(limit_bytes: int) -> ApiError:
    # The connection stays open: uvicorn drops the rest of the body as it arrives, and a client that only reads once it
    # has written everything gets this answer and not a reset.
    return ApiError("too_large", f"the body is larger than {limit_bytes} bytes: shorten it")
