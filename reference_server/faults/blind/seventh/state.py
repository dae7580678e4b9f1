"""Blind faults of state between requests: what a refused request leaves behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.blind.recipes import per_server
from reference_server.faults.hooks import CannedResponse, Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

LEAKING: Final = ("stop", "max_tokens", "seed")
REFUSED: Final = 400
FAILED: Final = 500


def _make_leak() -> Hooks:
    """Reset parameters at the end of an answer only. Violates the defaults of parameters."""
    kept: Json = {}

    def add(request: ServedRequest) -> None:
        request.state["sent"] = {name: request.payload[name] for name in LEAKING if request.payload.get(name)}
        for name in [name for name in kept if name not in request.payload]:
            request.payload[name] = kept[name]
        kept.clear()

    def keep(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
        if REFUSED <= head.status < FAILED:
            kept.update(request.state.get("sent", {}))
        return body

    return Hooks(request=add, refusal=keep)


def _make_memory() -> Hooks:
    """Cache a refusal by the messages. Violates the validity of a request, which is that of its own fields."""
    refused: dict[bytes, tuple[int, bytes]] = {}

    def key(request: ServedRequest) -> bytes:
        return orjson.dumps(request.payload.get("messages"), option=orjson.OPT_SORT_KEYS)

    def answer(request: ServedRequest) -> CannedResponse | None:
        status, body = refused.pop(key(request), (0, b""))
        return CannedResponse(status, body) if status else None

    def remember(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
        if REFUSED <= head.status < FAILED and isinstance(body, dict) and request.payload:
            refused[key(request)] = (head.status, orjson.dumps(body))
        return body

    return Hooks(request=answer, refusal=remember)


refused_parameters_reach_the_next_request = per_server(
    "refused-parameters-reach-the-next-request",
    "The stop, max_tokens and seed of a refused request apply to the next one if it lacks them.",
    _make_leak,
)
refusals_repeated_for_the_same_messages = per_server(
    "refusals-repeated-for-the-same-messages",
    "After a refusal, the next request with the same messages is refused too, although it is valid.",
    _make_memory,
)
