"""TODO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_choice, edit_either
from conformance.proof.editing.logprobs import alternative, edit_content, edit_each
from conformance.proof.editing.streams import edit_choices
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


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
