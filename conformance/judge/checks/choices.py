"""Checks of answers with several choices: their number, their indices, and how they differ."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any

from conformance.check import Applicability, Context, Finding, NotExercised, check, relation
from conformance.judge.answer_fields import expected_choices
from conformance.judge.applicability import ANSWER, not_generated, requests_several, require_choices, why_unanswered
from conformance.judge.rounds import trial
from conformance.judge.token_counts import requested_limit
from conformance.statistics import NO_PATTERN
from conformance.text_diff import differ_by_one_gap
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.check import Round
    from conformance.exchange import Exchange

CHOICES = range(4)  # of the scenario in which they are compared
FEW_CHARACTERS = 8  # shorter choices may be equal by chance
LONGEST_CHARACTER = 4  # tokens, of one byte each


SEVERAL = Applicability(
    lambda scenario, step, contract: (
        not_generated(ANSWER).applies_to(scenario, step, contract) and requests_several(step)
    ),
    why_unanswered,
)


def _texts(exchange: Exchange) -> list[str]:
    """Return the texts of the choices in the order of their indices."""
    return [choice.content for _, choice in sorted(exchange.choices.items())]


@check("choices.all-finish", on=SEVERAL)
def every_choice_finishes(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Each of several choices has a finish reason."""
    for index, choice in exchange.choices.items():
        if not choice.finish_reason:
            yield Finding(f"/choices/{index}/finish_reason", "a reason", "none")


@check("choices.all-speak", on=SEVERAL)
def every_choice_holds_an_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Each of several choices has an answer: none is empty while others are not.

    Not judged of models that reason, nor with tools: the marks around reasoning, or a call that is cut off, may use up
    the tokens of a choice. A stop string may come first, and above temperature 1 the model may end at once. A choice
    of a few tokens may be part of one character, which is not shown.
    """
    sent: Any = exchange.request_json
    temperature = sent.get("temperature")
    may_end = bool(sent.get("stop")) or (isinstance(temperature, (int, float)) and temperature > 1)
    if sent.get("tools") or any(choice.reasoning for choice in exchange.choices.values()):
        raise NotExercised("the tokens of a choice may be reasoning, or a call")
    has_answer = {
        index: bool(choice.content or choice.reasoning or choice.tool_calls)
        for index, choice in exchange.choices.items()
        if not (may_end and choice.finish_reason == "stop" and not choice.content)
        and not (choice.finish_reason == "length" and requested_limit(exchange) < LONGEST_CHARACTER)
    }
    if not any(has_answer.values()):
        raise NotExercised("the answer has no text")
    for index, answered in has_answer.items():
        if not answered:
            yield Finding(f"/choices/{index}/message/content", "an answer", "none")


@relation("choices.sampled-apart", over=("sampled", "sampled-again"), unmet=why_unanswered)
def sampled_choices_differ(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """At a high temperature the choices of one answer are sampled independently: their texts are not all the same.

    Reported only if chance does not explain it: two answers differ from one another, while in each all choices agree.
    """
    first, second = (_texts(exchanges[name]) for name in ("sampled", "sampled-again"))
    if min(map(len, first + second), default=0) < FEW_CHARACTERS or min(len(first), len(second)) < 2:
        raise NotExercised("the answers are too short, or too few, to compare")
    if len(set(first + second)) == 1:
        raise NotExercised("the model always gives the same answer")
    if len(set(first)) == len(set(second)) == 1:
        yield Finding(
            "/choices/*/message/content", "different texts", f"{format_quantity(len(first), 'time')} {first[0]!r}"[:200]
        )


@trial(
    "choices.drawn-apart",
    scenario="choices-drawn-apart",
    parts=("four",),
    test=NO_PATTERN,
    expected="different texts, or not always the same choices with equal texts",
)
def every_choice_is_drawn_by_itself(round_: Round, earlier: Sequence[Round]) -> bool | None:
    """Each choice is sampled by itself: none always repeats another one.

    Texts may be equal by chance. If they are sampled, those that are equal are other ones each time: two of four
    choices are the same pair in one of six cases, three of them in one of four.
    """
    first = next((pattern for pattern in map(_equal_choices, earlier) if pattern), None)
    found = _equal_choices(round_)
    if found is None or (found and first is None):
        return None
    return found != first


def _equal_choices(round_: Round) -> frozenset[tuple[int, int]] | None:
    """Return the pairs of choices with equal texts; None if all are equal, or too short to compare."""
    texts = _texts(round_["four"])
    if len(texts) < len(CHOICES) or min(map(len, texts)) < FEW_CHARACTERS or len(set(texts)) == 1:
        return None
    return frozenset(pair for pair in combinations(CHOICES, 2) if texts[pair[0]] == texts[pair[1]])


def require_seed(exchanges: Mapping[str, Exchange]) -> None:
    """Raise NotExercised unless every request has a seed, which is left out if the contract has none."""
    sent: list[Any] = [exchange.request_json for exchange in exchanges.values()]
    if any(not isinstance(body, dict) or body.get("seed") is None for body in sent):
        raise NotExercised("the requests have no seed")


@relation("choices.seed-repeats", over=("seeded-choices", "seeded-choices-again"), unmet=why_unanswered)
def seeded_choices_repeat(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same request for several choices with the same seed gives the same texts, except for rare near ties.

    Where two tokens are almost equally likely, a server that computes in other sums in another batch may draw the other
    one. So more than half of the texts have to differ.
    """
    require_seed(exchanges)
    first, second = (_texts(exchanges[name]) for name in ("seeded-choices", "seeded-choices-again"))
    if (Counter(first) - Counter(second)).total() > len(first) / 2:
        yield Finding("/choices/*/message/content", repr(first)[:200], repr(second)[:200])


@relation("choices.first-is-the-only-one", over=("single", "seeded-choices"), unmet=why_unanswered)
def first_choice_is_that_of_a_single_one(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With the same seed, the choice of `n: 1` is among those of a greater n. No document promises it."""
    require_seed(exchanges)
    single, several = _texts(exchanges["single"]), _texts(exchanges["seeded-choices"])
    if not set(single) & set(several):
        yield Finding("/choices/*/message/content", repr(single)[:200], repr(several)[:200])


@relation("choices.best-of-returns-n", over=("best-of",), unmet=why_unanswered)
def best_of_returns_n_choices(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """With best_of above n, the answer has n choices, or best_of choices if the document says so."""
    expected = expected_choices(exchanges["best-of"], context)
    found = len(exchanges["best-of"].choices)
    if found != expected:
        yield Finding("/choices", format_quantity(expected, "choice"), format_quantity(found, "choice"))


@relation("choices.beams-differ", over=("beams",), unmet=why_unanswered)
def beams_are_different_texts(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The choices of a beam search are different sequences, so their texts are not all the same."""
    texts = _texts(exchanges["beams"])
    if len(texts) < 2 or min(map(len, texts)) < FEW_CHARACTERS:
        raise NotExercised("the answers are too short, or too few, to compare")
    if len(set(texts)) == 1:
        yield Finding(
            "/choices/*/message/content", "different texts", f"{format_quantity(len(texts), 'time')} {texts[0]!r}"[:200]
        )


@relation("choices.beams-repeat", over=("beams", "beams-again"), unmet=why_unanswered)
def beams_repeat(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same beam search gives the same texts, because it does not sample."""
    first, second = (_texts(exchanges[name]) for name in ("beams", "beams-again"))
    if first != second:
        yield Finding("/choices/*/message/content", repr(first)[:200], repr(second)[:200])


@relation(
    "choices.streamed-as-plain",
    over=("seeded-choices", "seeded-choices-again", "streamed-choices"),
)
def streamed_choices_are_the_plain_ones(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Several choices with the same seed have the same texts streamed and plain: no choice loses part of its text.

    Reported if a streamed text is the plain one with a piece lost or repeated. Any other difference is another sample.
    """
    require_choices(exchanges, context)
    require_seed(exchanges)
    first, second, streamed = (
        _texts(exchanges[name]) for name in ("seeded-choices", "seeded-choices-again", "streamed-choices")
    )
    if first != second:
        raise NotExercised("seeded answers of this server do not repeat")
    if len(first) != len(streamed) or not set(first) & set(streamed):
        raise NotExercised("streams are sampled differently")
    for index, (plain, streamed_text) in enumerate(zip(first, streamed, strict=True)):
        if "\ufffd" in plain or "\ufffd" in streamed_text:  # part of a character may be written in more than one way
            continue
        reasons = [exchanges[name].finish_reason(index) for name in ("seeded-choices", "streamed-choices")]
        if differ_by_one_gap(plain, streamed_text, FEW_CHARACTERS, cut=reasons == ["length", "length"]):
            yield Finding(f"/choices/{index}/message/content", repr(plain)[:200], repr(streamed_text)[:200])
