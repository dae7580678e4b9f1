"""Several choices: as many as asked for, each with an index of its own, drawn apart from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NoOccasion, Occasion, check, relation
from conformance.judge.answer_fields import told_choices
from conformance.judge.applicability import ANSWER, unsuccessful, written
from conformance.judge.text_diff import patched

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange
    from conformance.scenario import Step

FEW_CHARACTERS = 8  # in shorter answers chance alone makes choices equal


def _asks_for_several(step: Step) -> bool:
    number = (step.body or {}).get("n")
    return type(number) is int and number > 1


SEVERAL = Occasion(
    lambda scenario, step, contract: written(ANSWER).fits(scenario, step, contract) and _asks_for_several(step),
    unsuccessful,
)


def _texts(exchange: Exchange) -> list[str]:
    """What the choices say, in the order of their indices."""
    return [folded.content for _, folded in sorted(exchange.choices.items())]


@check("choices.all-finish", on=SEVERAL)
def every_choice_finishes(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Each of several choices says why it ended."""
    for index, folded in exchange.choices.items():
        if not folded.finish_reason:
            yield Finding(f"/choices/{index}/finish_reason", "a reason", "none")


@check("choices.all-speak", on=SEVERAL)
def every_choice_holds_an_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Each of several choices holds an answer: none is empty beside others that are not."""
    spoken = {
        index: bool(each.content or each.reasoning or each.tool_calls) for index, each in exchange.choices.items()
    }
    if not any(spoken.values()):
        raise NoOccasion("the answer holds no text")
    for index, speaks in spoken.items():
        if not speaks:
            yield Finding(f"/choices/{index}/message/content", "a text", "none")


@relation("choices.sampled-apart", over=("sampled", "sampled-again"), lacks=unsuccessful)
def sampled_choices_differ(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """At a high temperature the choices of one answer are drawn apart: they are not all the same text.

    Blamed is only what no chance explains: two answers that differ from one another, while in each all choices agree.
    """
    first, second = (_texts(exchanges[name]) for name in ("sampled", "sampled-again"))
    if min(map(len, first + second), default=0) < FEW_CHARACTERS or min(len(first), len(second)) < 2:
        raise NoOccasion("the answers are too short, or too few, to compare")
    if len(set(first + second)) == 1:
        raise NoOccasion("the model is too sure of its answer")
    if len(set(first)) == len(set(second)) == 1:
        yield Finding("/choices/*/message/content", "texts that differ", f"{len(first)} times {first[0]!r}"[:200])


@relation("choices.seed-repeats", over=("seeded-choices", "seeded-choices-again"), lacks=unsuccessful)
def seeded_choices_repeat(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same request for several choices with the same seed gives the same texts."""
    first, second = (_texts(exchanges[name]) for name in ("seeded-choices", "seeded-choices-again"))
    if sorted(first) != sorted(second):
        yield Finding("/choices/*/message/content", repr(first)[:200], repr(second)[:200])


@relation("choices.first-is-the-only-one", over=("single", "seeded-choices"), lacks=unsuccessful)
def first_choice_is_that_of_a_single_one(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With the same seed, the one choice of `n: 1` is among those of a greater n. No document promises it."""
    single, several = _texts(exchanges["single"]), _texts(exchanges["seeded-choices"])
    if not set(single) & set(several):
        yield Finding("/choices/*/message/content", repr(single)[:200], repr(several)[:200])


@relation("choices.best-of-returns-n", over=("best-of",), lacks=unsuccessful)
def best_of_returns_n_choices(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """With best_of above n, n choices come back, or best_of where the document says so: it says which."""
    asked = told_choices(exchanges["best-of"], context)
    found = len(exchanges["best-of"].choices)
    if found != asked:
        yield Finding("/choices", f"{asked} choices", f"{found} choices")


@relation("choices.beams-differ", over=("beams",), lacks=unsuccessful)
def beams_are_different_texts(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The choices of a beam search are different sequences, so that their texts are not all the same."""
    texts = _texts(exchanges["beams"])
    if len(texts) < 2 or min(map(len, texts)) < FEW_CHARACTERS:
        raise NoOccasion("the answers are too short, or too few, to compare")
    if len(set(texts)) == 1:
        yield Finding("/choices/*/message/content", "texts that differ", f"{len(texts)} times {texts[0]!r}"[:200])


@relation("choices.beams-repeat", over=("beams", "beams-again"), lacks=unsuccessful)
def beams_repeat(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same beam search gives the same texts: it leaves nothing to chance."""
    first, second = (_texts(exchanges[name]) for name in ("beams", "beams-again"))
    if first != second:
        yield Finding("/choices/*/message/content", repr(first)[:200], repr(second)[:200])


@relation(
    "choices.streamed-as-plain",
    over=("seeded-choices", "seeded-choices-again", "streamed-choices"),
    lacks=unsuccessful,
)
def streamed_choices_are_the_plain_ones(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Several choices of the same seed have the same texts streamed and plain: no choice loses some of its text.

    Blamed is a streamed text that is the plain one with something lost or told twice; another text is another draw.
    """
    first, second, streamed = (
        _texts(exchanges[name]) for name in ("seeded-choices", "seeded-choices-again", "streamed-choices")
    )
    if first != second:
        raise NoOccasion("seeded answers of this server do not repeat")
    if len(first) != len(streamed) or not set(first) & set(streamed):
        raise NoOccasion("streams are drawn otherwise")
    for index, (plain, found) in enumerate(zip(first, streamed, strict=True)):
        if "\ufffd" in plain or "\ufffd" in found:  # parts of characters may be shown in more than one way
            continue
        reasons = [exchanges[name].finish_reason(index) for name in ("seeded-choices", "streamed-choices")]
        if patched(plain, found, FEW_CHARACTERS, cut=reasons == ["length", "length"]):
            yield Finding(f"/choices/{index}/message/content", repr(plain)[:200], repr(found)[:200])
