"""Mutants of calls that max_tokens cuts off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_either
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("tools.cut-calls-shown", steps="cut")
def cut_call_is_lost(exchange: Exchange) -> Exchange:
    """A plain answer whose call is cut off has neither the call nor text."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            choice["message"] = {"role": "assistant", "content": ""}

    return edit_either(exchange, change)


@mutant("tools.cut-arguments-stay-cut", steps="cut")
def cut_arguments_are_completed(exchange: Exchange) -> Exchange:
    """The arguments of a plain call that is cut off end as an object."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            for call in choice["message"].get("tool_calls") or ():
                call["function"]["arguments"] += '"}'

    return edit_either(exchange, change)
