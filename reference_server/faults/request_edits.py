"""Edit a request before the server reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.hooks import CannedResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.hooks import Json, ServedRequest

LONG: Final = 2_000  # characters


def messages_of(body: bytes) -> Any:
    """Return the messages of a request body, or None if it is not valid."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return value.get("messages") if isinstance(value, dict) and isinstance(value.get("messages"), list) else None


def null_as(name: str, value: Any) -> Callable[[ServedRequest], None]:
    """Return an edit that replaces a null parameter by a value."""

    def edit(request: ServedRequest) -> None:
        if name in request.payload and request.payload[name] is None:
            request.payload[name] = value

    return edit


def text_messages(request: ServedRequest) -> list[Json]:
    """Return the messages of a request whose content is a string."""
    messages = request.payload.get("messages")
    if not isinstance(messages, list):
        return []
    return [message for message in messages if isinstance(message, dict) and isinstance(message.get("content"), str)]


def ignoring(*names: str) -> Callable[[ServedRequest], None]:
    """Return an edit that removes parameters from a request."""

    def edit(request: ServedRequest) -> None:
        for name in names:
            request.payload.pop(name, None)

    return edit


def failed(request: ServedRequest) -> CannedResponse:
    """Return the dialect's error for a failed engine."""
    status, body = request.contract.errors.render("engine_failure", "internal error")
    return CannedResponse(status, orjson.dumps(body))


def keep_last(names: tuple[str, ...]) -> Callable[[ServedRequest], None]:
    """Return an edit that adds the last values of these parameters to requests that lack them."""
    kept: Json = {}

    def keep(request: ServedRequest) -> None:
        kept.update({name: request.payload[name] for name in names if request.payload.get(name) is not None})
        for name, value in kept.items():
            request.payload.setdefault(name, value)

    return keep
