"""Mutants of answers with several choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_answer, edit_choice, edit_either
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def _all_saying(exchange: Exchange, text: str) -> Exchange:
    def change(answer: dict[str, Any]) -> None:
        for choice in answer["choices"]:
            choice["message"]["content"] = text

    return edit_answer(exchange, change)


@mutant("choices.all-finish")
def second_choice_never_finishes(exchange: Exchange) -> Exchange:
    """The second choice has no finish_reason."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            if choice["index"] == 1:
                choice["finish_reason"] = None

    return edit_either(exchange, change)


@mutant("choices.all-speak", scenario="choices")
def second_choice_is_empty(exchange: Exchange) -> Exchange:
    """The second choice is empty."""

    def change(holder: dict[str, Any]) -> None:
        for choice in holder["choices"]:
            if choice["index"] == 1:
                choice["message" if "message" in choice else "delta"]["content"] = ""
                choice["finish_reason"] = choice["finish_reason"] and "length"

    return edit_either(exchange, change)


@mutant("choices.drawn-apart", steps="four.*")
def third_choice_repeats_the_second(exchange: Exchange) -> Exchange:
    """The third and the fourth choice repeat the second."""

    def change(answer: dict[str, Any]) -> None:
        for choice in answer["choices"]:
            choice["message"]["content"] = f"a {'first' if choice['index'] == 0 else 'second'} story of {exchange.id}"

    return edit_answer(exchange, change)


@mutant("choices.sampled-apart", steps="sampled*")
def choices_are_copies(exchange: Exchange) -> Exchange:
    """One choice is sampled, and the others are copies."""
    return _all_saying(exchange, f"a story called {exchange.id}")


@mutant("choices.seed-repeats")
def seed_is_left_aside(exchange: Exchange) -> Exchange:
    """The seed is ignored if several choices are requested."""
    return _all_saying(exchange, f"a story called {exchange.id}")


@mutant("choices.first-is-the-only-one", steps="single")
def single_choice_is_another(exchange: Exchange) -> Exchange:
    """The choice of `n: 1` is not among those of a greater n."""
    return edit_choice(exchange, lambda choice: choice["message"].update(content="another story"))


@mutant("choices.best-of-returns-n")
def all_sequences_come_back(exchange: Exchange) -> Exchange:
    """Every choice is returned twice."""

    def change(answer: dict[str, Any]) -> None:
        again = answer["choices"]
        answer["choices"] = [*again, *({**choice, "index": len(again) + choice["index"]} for choice in again)]

    return edit_answer(exchange, change)


@mutant("choices.beams-differ")
def beams_are_copies(exchange: Exchange) -> Exchange:
    """All beams have the same text."""
    return _all_saying(exchange, "once upon a time")


@mutant("choices.beams-repeat")
def beams_change(exchange: Exchange) -> Exchange:
    """The second beam search gives another text."""
    return _all_saying(exchange, "once upon a time")


@mutant("choices.streamed-as-plain", steps="seeded-choices*")
def third_choice_loses_text_when_streamed(exchange: Exchange) -> Exchange:
    """The streamed third choice lacks its beginning."""

    def change(answer: dict[str, Any]) -> None:
        message = answer["choices"][2]["message"]
        message["content"] = f"Once upon a time {message['content']}"

    return edit_answer(exchange, change)
