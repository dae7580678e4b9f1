"""Record which parts of an exchange a check reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.check import View
    from conformance.exchange import Exchange

_RESPONSE: Final[tuple[View, ...]] = ("response",)
_TYPE: Final[tuple[View, ...]] = ("response", "type")
_BODY: Final[tuple[View, ...]] = ("response", "body")
_ASSEMBLED: Final[tuple[View, ...]] = ("response", "body", "assembled")
VIEWS: Final[Mapping[str, tuple[View, ...]]] = {
    **dict.fromkeys(("status", "complete", "header", "response", "failure", "succeeded"), _RESPONSE),
    "content_type": _TYPE,
    **dict.fromkeys(("body", "text", "json", "json_error", "json_oddities", "is_stream", "decoded", "events"), _BODY),
    **dict.fromkeys(("walk.chunks", "walk.errors", "walk.done_at", "walk.oddities"), _BODY),
    **dict.fromkeys(("walk.breaches", "walk.choices", "walk.usages", "walk.full_texts"), _ASSEMBLED),
    **dict.fromkeys(("choices", "first_choice", "usage", "content", "finish_reason"), _ASSEMBLED),
}
"""The views that a part of an exchange belongs to. The parts of the request belong to none."""

Reads = set[tuple[str, str]]
"""Pairs of an exchange's id and the name of a part that was read."""


class TracedExchange:
    """An exchange, or its `walk`, that adds the name of every attribute that is read to `reads`."""

    def __init__(self, traced: object, identity: str, reads: Reads, prefix: str = "") -> None:
        self._traced = traced
        self._identity = identity
        self._reads = reads
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        """Return the attribute. Called for every attribute but those that `__init__` sets."""
        value = getattr(self._traced, name)
        if name == "walk":
            return TracedExchange(value, self._identity, self._reads, "walk.")
        self._reads.add((self._identity, f"{self._prefix}{name}"))
        return value


def trace(exchange: Exchange, reads: Reads) -> TracedExchange:
    """Return the exchange so that `reads` receives what is read of it."""
    return TracedExchange(exchange, exchange.id, reads)
