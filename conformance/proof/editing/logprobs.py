"""TODO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_either

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange


def edit_content(exchange: Exchange, edit: Callable[[list[dict[str, Any]]], object]) -> Exchange:
    """The list of entries changed in every choice that has one, streamed or plain."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            if isinstance(choice.get("logprobs"), dict) and choice["logprobs"].get("content"):
                edit(choice["logprobs"]["content"])

    return edit_either(exchange, change)


def edit_each(exchange: Exchange, edit: Callable[[dict[str, Any]], object]) -> Exchange:
    """Every entry changed."""
    return edit_content(exchange, lambda content: [edit(entry) for entry in content])


def alternative(letter: str = "x", logprob: float = -1.0) -> dict[str, Any]:
    """An alternative of one letter."""
    return {"token": letter, "logprob": logprob, "bytes": list(letter.encode())}
