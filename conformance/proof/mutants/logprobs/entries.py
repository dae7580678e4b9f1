"""Mutants of the form and the number of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_choice, edit_either
from conformance.proof.editing.logprobs import alternative, edit_content, edit_each
from conformance.proof.editing.streams import edit_choices
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("logprobs.given-with-text", steps="bare")
def entries_are_left_out(exchange: Exchange) -> Exchange:
    """The list of entries is empty."""
    return edit_choice(exchange, lambda choice: choice["logprobs"].update(content=[]))


@mutant("logprobs.entries-well-formed")
def entries_are_of_the_older_api(exchange: Exchange) -> Exchange:
    """An entry has the token and its log-probability in the fields of the completions API."""
    return edit_each(exchange, lambda entry: entry.update(logprob=None, top_logprobs=None))


@mutant("logprobs.bytes-are-the-token")
def bytes_are_code_points(exchange: Exchange) -> Exchange:
    """The bytes of a token are those of another token."""
    return edit_each(exchange, lambda entry: entry.update({**alternative(), "bytes": [0xE4, 0xBD]}))


@mutant("logprobs.make-the-text")
def first_entry_is_told_twice(exchange: Exchange) -> Exchange:
    """An entry is repeated three times."""
    return edit_content(exchange, lambda content: content.extend(content[:1] * 3))


@mutant("logprobs.one-entry-per-token")
def one_entry_is_too_many(exchange: Exchange) -> Exchange:
    """There is one entry more than tokens."""
    return edit_content(exchange, lambda content: content.extend(content[:1]))


@mutant("logprobs.in-every-chunk", scenario="logprobs")
def stream_has_no_entries(exchange: Exchange) -> Exchange:
    """A stream has no log-probabilities, although they were requested."""
    return edit_choices(exchange, lambda choice: choice.update(logprobs=None))


@mutant("logprobs.none-in-streams")
def stream_has_entries(exchange: Exchange) -> Exchange:
    """A stream has log-probabilities, although the document says that streams have none."""
    return edit_choices(exchange, lambda choice: choice.update(logprobs={"content": []}))


@mutant("logprobs.only-on-request")
def log_probabilities_come_unasked(exchange: Exchange) -> Exchange:
    """An answer has an empty object of log-probabilities that was not requested."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            choice["logprobs"] = {"content": []}

    return edit_either(exchange, change)


@mutant("logprobs.told-when-stopped", steps="halted")
def stop_text_takes_all_entries(exchange: Exchange) -> Exchange:
    """An answer that a stop string ends has only its last entry."""
    return edit_choice(exchange, lambda choice: choice["logprobs"].update(content=choice["logprobs"]["content"][-1:]))


@mutant("logprobs.end-with-the-stop", steps="halted")
def entries_continue_behind_the_stop_text(exchange: Exchange) -> Exchange:
    """An answer that a stop string ends has the entry of a further token."""
    return edit_content(exchange, lambda content: content.append({**content[-1], **alternative()}))
