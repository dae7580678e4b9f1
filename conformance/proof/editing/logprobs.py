"""Edit the log-probabilities of answers, plain or streamed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_either

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange


def edit_content(exchange: Exchange, edit: Callable[[list[dict[str, Any]]], object]) -> Exchange:
    """Edit the list of entries of every choice that has one."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            if isinstance(choice.get("logprobs"), dict) and choice["logprobs"].get("content"):
                edit(choice["logprobs"]["content"])

    return edit_either(exchange, change)


def edit_each(exchange: Exchange, edit: Callable[[dict[str, Any]], object]) -> Exchange:
    """Edit every entry."""
    return edit_content(exchange, lambda content: [edit(entry) for entry in content])


def alternative(letter: str = "x", logprob: float = -1.0) -> dict[str, Any]:
    """Return an alternative with a token of one letter."""
    return {"token": letter, "logprob": logprob, "bytes": list(letter.encode())}


def forget_the_prompt(entry: dict[str, Any]) -> None:
    """Replace the alternatives of an entry by some that are the same whatever the prompt is."""
    entry["top_logprobs"] = [alternative(letter, -1.23456) for letter in "abc"]
