"""Faults in which the server repairs a request that it must refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import fault, requires_check

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest


@fault("invents-messages", "request", applies_to=requires_check("demands.messages"))
def invents_messages(request: ServedRequest) -> None:
    """A request without messages is answered as if the user had said hello."""
    if "messages" not in request.payload:
        request.payload["messages"] = [{"role": "user", "content": "Hello!"}]


@fault("lowers-the-least", "request", applies_to=requires_check("demands.tokens-in-order"))
def lowers_the_least(request: ServedRequest) -> None:
    """A min_tokens above max_tokens is lowered to it."""
    least, most = request.payload.get("min_tokens"), request.payload.get("max_tokens")
    if type(least) is int and type(most) is int and least > most:
        request.payload["min_tokens"] = most
