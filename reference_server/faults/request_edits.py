"""Edit a request before the server reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.hooks import Json, Told

LONG: Final = 2_000  # characters


def messages_of(body: bytes) -> Any:
    """Return the messages of a request body, or None if it is not valid."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return value.get("messages") if isinstance(value, dict) and isinstance(value.get("messages"), list) else None


def null_as(name: str, value: Any) -> Callable[[Told], None]:
    """Return an edit that replaces a null parameter by a value."""

    def edit(told: Told) -> None:
        if name in told.sent and told.sent[name] is None:
            told.sent[name] = value

    return edit


def text_messages(told: Told) -> list[Json]:
    """Return the messages of a request whose content is a string."""
    messages = told.sent.get("messages")
    found = messages if isinstance(messages, list) else []
    return [each for each in found if isinstance(each, dict) and isinstance(each.get("content"), str)]


def ignoring(*names: str) -> Callable[[Told], None]:
    """Return an edit that removes parameters from a request."""

    def edit(told: Told) -> None:
        for name in names:
            told.sent.pop(name, None)

    return edit
