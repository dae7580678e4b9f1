"""Faults in which the server repairs a request that it must refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import demands, fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Told


@fault("invents-messages", "request", fits=demands("demands.messages"))
def invents_messages(told: Told) -> None:
    """A request without messages is answered as if the user had said hello."""
    if "messages" not in told.sent:
        told.sent["messages"] = [{"role": "user", "content": "Hello!"}]


@fault("lowers-the-least", "request", fits=demands("demands.tokens-in-order"))
def lowers_the_least(told: Told) -> None:
    """A min_tokens above max_tokens is lowered to it."""
    least, most = told.sent.get("min_tokens"), told.sent.get("max_tokens")
    if type(least) is int and type(most) is int and least > most:
        told.sent["min_tokens"] = most
