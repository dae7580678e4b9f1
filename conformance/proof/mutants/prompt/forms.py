"""Mutants of vLLM's parameters for the prompt, and of the forms of conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import add_tokens, edit_either, say
from conformance.proof.editing.responses import refuse
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from typing import Any

    from conformance.exchange import Exchange


@mutant("prompt.cut-to-length", steps="cut-*")
def prompt_stays_whole(exchange: Exchange) -> Exchange:
    """The prompt is not cut."""
    return add_tokens(exchange, prompt=20)


@mutant("prompt.side-kept", steps="cut-right*")
def another_part_is_kept(exchange: Exchange) -> Exchange:
    """A prompt that is cut on the right loses its first token."""
    return edit_either(exchange, lambda holder: (holder.get("prompt_token_ids") or [0]).pop(0))


@mutant("prompt.last-message-continued", steps="continued*")
def last_message_is_closed(exchange: Exchange) -> Exchange:
    """The last message is closed before the answer begins."""

    def close(holder: dict[str, Any]) -> None:
        if holder.get("prompt_text"):
            holder["prompt_text"] += "<|im_end|>"

    return edit_either(exchange, close)


@mutant("prompt.no-echo-unasked", steps="continued*")
def last_message_is_always_echoed(exchange: Exchange) -> Exchange:
    """The answer begins with the last message, whatever echo is."""
    message = exchange.request_json["messages"][-1]["content"]
    return say(exchange, f"{message}{exchange.content()}")


@mutant("prompt.last-message-echoed", steps="echoed")
def last_message_is_left_out(exchange: Exchange) -> Exchange:
    """The answer does not begin with the last message."""
    return say(exchange, (exchange.content() or "")[1:])


@mutant("prompt.names-accepted", steps="named")
def names_are_refused(exchange: Exchange) -> Exchange:
    """A message with a name is refused."""
    return refuse(exchange, 400)


@mutant("prompt.developers-accepted", steps="developer")
def developers_are_refused(exchange: Exchange) -> Exchange:
    """A message of the role developer is refused."""
    return refuse(exchange, 400)


@mutant("prompt.any-order-survived", steps="unusual-*")
def unusual_order_breaks_the_server(exchange: Exchange) -> Exchange:
    """A system message in the middle, or without a user, gets a 500."""
    return refuse(exchange, 500)
