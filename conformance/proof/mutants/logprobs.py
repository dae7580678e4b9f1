"""Log-probabilities of another form, or of another text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.mutants.editing import edit_choice, edit_choices, edit_either
from conformance.proof.mutants.mutant import mutant

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


@mutant("logprobs.entries-well-formed")
def entries_are_of_the_older_api(exchange: Exchange) -> Exchange:
    """An entry is a bare token and its number under the names of the older API."""
    return edit_each(exchange, lambda entry: entry.update(logprob=None, top_logprobs=None))


@mutant("logprobs.bytes-are-the-token")
def bytes_are_code_points(exchange: Exchange) -> Exchange:
    """The bytes of a token are those of another text."""
    return edit_each(exchange, lambda entry: entry.update({**alternative(), "bytes": [0xE4, 0xBD]}))


@mutant("logprobs.make-the-text")
def first_entry_is_told_twice(exchange: Exchange) -> Exchange:
    """Entries are told twice."""
    return edit_content(exchange, lambda content: content.insert(0, content[0]))


@mutant("logprobs.one-entry-per-token")
def one_entry_is_too_many(exchange: Exchange) -> Exchange:
    """One entry more comes than there are tokens."""
    return edit_content(exchange, lambda content: content.extend(content[:1]))


@mutant("logprobs.as-many-alternatives-as-asked", scenario="logprobs")
def one_token_lacks_an_alternative(exchange: Exchange) -> Exchange:
    """Tokens have one alternative less than was asked for, and nine where none is left."""
    return edit_each(
        exchange, lambda entry: entry.update(top_logprobs=entry["top_logprobs"][1:] or [alternative()] * 9)
    )


@mutant("logprobs.alternatives-as-asked-or-fewer")
def nine_alternatives_come_always(exchange: Exchange) -> Exchange:
    """Nine alternatives come, however many are asked for."""
    return edit_each(exchange, lambda entry: entry.update(top_logprobs=[alternative()] * 9))


@mutant("logprobs.alternatives-sorted", scenario="logprobs")
def alternatives_are_sorted_by_id(exchange: Exchange) -> Exchange:
    """Alternatives stand in the order of their ids, the likeliest somewhere."""
    listed = [alternative("a", -3.0), alternative("b", -0.5), alternative("c", -4.0)]
    return edit_each(exchange, lambda entry: entry.update(top_logprobs=listed))


@mutant("logprobs.alternatives-differ")
def one_alternative_comes_twice(exchange: Exchange) -> Exchange:
    """The same alternative stands twice in the list."""
    return edit_each(exchange, lambda entry: entry.update(top_logprobs=[alternative()] * 2))


@mutant("logprobs.in-every-chunk")
def stream_has_no_entries(exchange: Exchange) -> Exchange:
    """A stream carries no log-probabilities, though they were asked for."""
    return edit_choices(exchange, lambda choice: choice.update(logprobs=None))


@mutant("logprobs.only-on-request")
def log_probabilities_come_unasked(exchange: Exchange) -> Exchange:
    """An empty object of log-probabilities comes unasked."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            choice["logprobs"] = {"content": []}

    return edit_either(exchange, change)


@mutant("logprobs.told-when-stopped", steps="halted")
def stop_text_takes_all_entries(exchange: Exchange) -> Exchange:
    """An answer that a stop text ends has lost its entries but the last."""
    return edit_choice(exchange, lambda choice: choice["logprobs"].update(content=choice["logprobs"]["content"][-1:]))
