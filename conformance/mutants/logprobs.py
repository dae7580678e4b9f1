"""Log-probabilities that do not belong to their text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.mutants.editing import edit_answer, edit_choices, edit_chunks
from conformance.mutants.mutant import mutant

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange


def _edit_content(exchange: Exchange, edit: Callable[[list[dict[str, Any]]], object]) -> Exchange:
    """The list of entries changed in every choice that has one, streamed or plain."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            if isinstance(choice.get("logprobs"), dict) and choice["logprobs"].get("content"):
                edit(choice["logprobs"]["content"])

    return edit_chunks(exchange, change) if exchange.is_stream else edit_answer(exchange, change)


def _edit_each(exchange: Exchange, edit: Callable[[dict[str, Any]], object]) -> Exchange:
    """Every entry changed."""
    return _edit_content(exchange, lambda content: [edit(entry) for entry in content])


def _alternative(letter: str = "x", logprob: float = -1.0) -> dict[str, Any]:
    return {"token": letter, "logprob": logprob, "bytes": list(letter.encode())}


@mutant("logprobs.entries-well-formed")
def entries_are_of_the_older_api(exchange: Exchange) -> Exchange:
    """An entry is a bare token and its number under the names of the older API."""
    return _edit_each(exchange, lambda entry: entry.update(logprob=None, top_logprobs=None))


@mutant("logprobs.not-positive")
def probability_stands_for_its_logarithm(exchange: Exchange) -> Exchange:
    """A probability stands where its logarithm is due."""
    return _edit_each(exchange, lambda entry: entry.update(logprob=0.5))


@mutant("logprobs.bytes-are-the-token")
def bytes_are_code_points(exchange: Exchange) -> Exchange:
    """The bytes of a token are those of another text."""
    return _edit_each(exchange, lambda entry: entry.update({**_alternative(), "bytes": [0xE4, 0xBD]}))


@mutant("logprobs.make-the-text")
def first_entry_is_told_twice(exchange: Exchange) -> Exchange:
    """Entries are told twice."""
    return _edit_content(exchange, lambda content: content.insert(0, content[0]))


@mutant("logprobs.one-entry-per-token")
def first_entry_is_missing(exchange: Exchange) -> Exchange:
    """The entry of the first token is missing."""
    return _edit_content(exchange, lambda content: content.extend(content[:1]))


@mutant("logprobs.as-many-alternatives-as-asked")
def nine_alternatives_come_always(exchange: Exchange) -> Exchange:
    """Nine alternatives come, however many are asked for."""
    return _edit_each(exchange, lambda entry: entry.update(top_logprobs=[_alternative()] * 9))


@mutant("logprobs.alternatives-sorted", scenario="logprobs")
def alternatives_are_sorted_by_id(exchange: Exchange) -> Exchange:
    """Alternatives stand in the order of their ids, the likeliest somewhere."""
    listed = [_alternative("a", -3.0), _alternative("b", -0.5), _alternative("c", -4.0)]
    return _edit_each(exchange, lambda entry: entry.update(top_logprobs=listed))


@mutant("logprobs.alternatives-differ")
def one_alternative_comes_twice(exchange: Exchange) -> Exchange:
    """The same alternative stands twice in the list."""
    return _edit_each(exchange, lambda entry: entry.update(top_logprobs=[_alternative()] * 2))


@mutant("logprobs.within-one")
def alternatives_are_no_distribution(exchange: Exchange) -> Exchange:
    """Two alternatives are both almost certain."""
    listed = [_alternative(letter, -0.01) for letter in "ab"]
    return _edit_each(exchange, lambda entry: entry.update(top_logprobs=listed))


@mutant("logprobs.chosen-as-listed")
def chosen_token_differs_from_its_alternative(exchange: Exchange) -> Exchange:
    """The chosen token is told after the temperature, its alternative before it."""
    return _edit_each(
        exchange, lambda entry: entry.update({**_alternative(), "top_logprobs": [_alternative("x", -2.0)]})
    )


@mutant("logprobs.greedy-token-is-likeliest")
def greedy_choice_is_unlikely(exchange: Exchange) -> Exchange:
    """At temperature 0 an unlikely token is chosen."""
    return _edit_each(exchange, lambda entry: entry.update(logprob=-5.0, top_logprobs=[_alternative("x", -0.1)]))


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

    return edit_chunks(exchange, change) if exchange.is_stream else edit_answer(exchange, change)


@mutant("logprobs.streamed-as-plain")
def streamed_tokens_are_others(exchange: Exchange) -> Exchange:
    """The streamed entries name other tokens than the plain ones."""
    return _edit_each(exchange, lambda entry: entry.update(token=entry["token"] + "x"))


@mutant("logprobs.greedy-token-is-listed")
def alternatives_are_of_another_place(exchange: Exchange) -> Exchange:
    """Alternatives are those of another place, so that no chosen token stands among them."""
    return _edit_each(exchange, lambda entry: entry.update(top_logprobs=[_alternative("\u2603", -9.0)]))


@mutant("logprobs.numbers-vary")
def every_number_is_the_same(exchange: Exchange) -> Exchange:
    """Every token has the same log-probability."""
    return _edit_each(exchange, lambda entry: entry.update(logprob=-0.5))


@mutant("logprobs.cut-as-whole", steps="bare")
def numbers_are_those_of_the_next_tokens(exchange: Exchange) -> Exchange:
    """Each token has the log-probability of the next one, and the last one that of the first."""
    return _edit_content(exchange, lambda content: content[-1].update(logprob=content[-1]["logprob"] - 2.0))


@mutant("logprobs.told-by-what-came-before")
def numbers_depend_on_what_follows(exchange: Exchange) -> Exchange:
    """The first token has another log-probability where another one follows."""
    return _edit_content(exchange, lambda content: content[0].update(logprob=content[0]["logprob"] - 2.0))
