"""A mutant of temperatures: tokens are not drawn as likely as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_every_choice
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def _choose_first(choice: dict[str, Any]) -> None:
    """Let every token be the likeliest of ten, twice as likely as each other one, or a little more."""
    for entry in choice["logprobs"]["content"]:
        others = [{"token": f"w{at}", "logprob": -2.7 - at / 1000, "bytes": None} for at in range(9)]
        first = {"token": entry["token"], "logprob": -2.0, "bytes": entry["bytes"]}
        entry |= {"logprob": -2.0, "top_logprobs": [first, *others]}


@mutant("effects.drawn-as-likely", steps="[cha]*")
def unlikely_tokens_are_never_drawn(exchange: Exchange) -> Exchange:
    """At every temperature the likeliest token is chosen."""
    return edit_every_choice(exchange, _choose_first)
