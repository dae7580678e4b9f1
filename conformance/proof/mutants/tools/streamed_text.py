"""A mutant of the text next to calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_either
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("tools.streamed-text-as-plain", steps="plain")
def plain_calls_have_another_text(exchange: Exchange) -> Exchange:
    """A plain answer says what it does next to its calls."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            choice["message"]["content"] = "I call a tool for that."

    return edit_either(exchange, change)
