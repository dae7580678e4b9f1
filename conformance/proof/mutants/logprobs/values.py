"""Mutants of the values of log-probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.logprobs import alternative, edit_content, edit_each
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("logprobs.not-positive")
def probability_stands_for_its_logarithm(exchange: Exchange) -> Exchange:
    """The value is a probability instead of its logarithm."""
    return edit_each(exchange, lambda entry: entry.update(logprob=0.5))


@mutant("logprobs.within-one")
def alternatives_are_no_distribution(exchange: Exchange) -> Exchange:
    """Two alternatives are both almost certain."""
    listed = [alternative(letter, -0.01) for letter in "ab"]
    return edit_each(exchange, lambda entry: entry.update(top_logprobs=listed))


@mutant("logprobs.chosen-as-listed")
def chosen_token_differs_from_its_alternative(exchange: Exchange) -> Exchange:
    """The value of the chosen token includes the temperature, that of the same alternative does not."""
    return edit_each(exchange, lambda entry: entry.update({**alternative(), "top_logprobs": [alternative("x", -2.0)]}))


@mutant("logprobs.greedy-token-is-likeliest")
def greedy_choice_is_unlikely(exchange: Exchange) -> Exchange:
    """At temperature 0 an unlikely token is chosen."""
    return edit_each(exchange, lambda entry: entry.update(logprob=-5.0, top_logprobs=[alternative("x", -0.1)]))


@mutant("logprobs.greedy-token-is-listed")
def alternatives_are_of_another_place(exchange: Exchange) -> Exchange:
    """Alternatives belong to another token, so no chosen token is among them."""
    return edit_each(exchange, lambda entry: entry.update(top_logprobs=[alternative("\u2603", -9.0)]))


@mutant("logprobs.numbers-vary")
def every_number_is_the_same(exchange: Exchange) -> Exchange:
    """Every token has the same log-probability."""
    return edit_each(exchange, lambda entry: entry.update(logprob=-0.5))


@mutant("logprobs.streamed-as-plain")
def streamed_tokens_are_others(exchange: Exchange) -> Exchange:
    """The streamed entries have other tokens than the plain ones."""
    return edit_each(exchange, lambda entry: entry.update(token=entry["token"] + "x"))


@mutant("logprobs.cut-as-whole", steps="bare")
def numbers_are_those_of_the_next_tokens(exchange: Exchange) -> Exchange:
    """Each token has the log-probability of the next one, and the last token that of the first."""
    return edit_content(exchange, lambda content: content[-1].update(logprob=content[-1]["logprob"] - 2.0))


@mutant("logprobs.told-by-what-came-before")
def numbers_depend_on_what_follows(exchange: Exchange) -> Exchange:
    """The log-probability of the first token depends on the token that follows."""
    return edit_content(exchange, lambda content: content[0].update(logprob=content[0]["logprob"] - 2.0))


@mutant("logprobs.same-everywhere", scenario="logprobs")
def numbers_of_one_answer_are_others(exchange: Exchange) -> Exchange:
    """One of several answers has lower log-probabilities for the same tokens."""
    return edit_each(exchange, lambda entry: entry.update(logprob=entry["logprob"] - 3))
