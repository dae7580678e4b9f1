"""Checks of the same request with and after others: from the start of a run to its end it has the same answer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, NotObserved, relation, series
from conformance.judge.answer_fields import shape_of
from conformance.judge.applicability import why_unanswered
from conformance.judge.evidence.answer_difference import compare_answers, trimmed_texts
from conformance.judge.evidence.repetition import require_repetition
from conformance.judge.logprob_entries import entries_by_choice
from conformance.judge.token_counts import COUNTS
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange
    from openapi.stream.accumulated_choice import AccumulatedChoice

TOLD = "told"  # the request with log-probabilities
CALLED = {"stop", "tool_calls"}  # either may end an answer with calls; other checks judge which one


@relation("relations.paired-streamed-as-plain", over=("paired", "paired-streamed"))
def paired_parameters_mean_the_same_in_streams(
    exchanges: Mapping[str, Exchange], context: Context
) -> Iterator[Finding]:
    """A greedy or seeded request with several parameters has the same choices streamed as plain, if it is accepted."""
    require_repetition(context)
    sent: Any = exchanges["paired"].request_json
    if sent.get("temperature") != 0 and sent.get("seed") is None:
        raise NotExercised("the contract allows neither temperature 0 nor the seed")
    if any(400 <= (exchange.status or 0) < 500 for exchange in exchanges.values()):
        raise NotExercised("the combination is refused")
    for exchange in exchanges.values():
        if reason := why_unanswered(exchange):
            raise NotObserved(reason)
    plain, streamed = exchanges.values()
    if compare_answers(plain, streamed) == "clear" and trimmed_texts(plain) != trimmed_texts(streamed):
        texts = [[choice.content for choice in exchange.choices.values()] for exchange in (plain, streamed)]
        yield Finding("/paired-streamed/choices", repr(texts[0])[:200], repr(texts[1])[:200])


@relation("relations.paired-ends-as-plain", over=("paired", "paired-streamed"))
def paired_parameters_end_and_count_the_same_in_streams(
    exchanges: Mapping[str, Exchange], context: Context
) -> Iterator[Finding]:
    """With several parameters, a choice with the same text ends for the same reason streamed as plain, and counts the
    same tokens.

    If it is cut off it has as many log-probabilities, unless one of the forms has none.
    """
    require_repetition(context)
    if any(why_unanswered(exchange) for exchange in exchanges.values()):
        raise NotExercised("one of the forms is not answered")
    plain, streamed = exchanges.values()
    same = [at for at, choice in plain.choices.items() if _has_text_of(choice, streamed.choices.get(at))]
    if not same:
        raise NotExercised("the texts differ, so their ends may differ")
    known, told = _count_entries(plain), _count_entries(streamed)
    for at in same:
        first, second = plain.finish_reason(at), streamed.finish_reason(at)
        if first != second and {first, second} != CALLED:
            yield Finding(f"/paired-streamed/choices/{at}/finish_reason", repr(first), repr(second))
        elif first == "length" and known.get(at) and told.get(at) and known[at] != told[at]:
            expected, found = format_quantity(known[at], "entry", "entries"), f"{told[at]}"
            yield Finding(f"/paired-streamed/choices/{at}/logprobs/content", expected, found)
    counted = [(exchange.usage or {}).get("completion_tokens") for exchange in (plain, streamed)]
    whole = len(same) == len(plain.choices) == len(streamed.choices) and len(streamed.walk.usages) == 1
    if whole and None not in counted and counted[0] != counted[1]:
        yield Finding("/paired-streamed/usage/completion_tokens", f"{counted[0]}", f"{counted[1]}")


def _has_text_of(choice: AccumulatedChoice, other: AccumulatedChoice | None) -> bool:
    return other is not None and (choice.content, choice.reasoning) == (other.content, other.reasoning)


def _count_entries(exchange: Exchange) -> dict[int, int]:
    """Return the number of log-probabilities of each choice."""
    try:
        return {at: len(entries) for at, entries in entries_by_choice(exchange).items()}
    except NotExercised:
        return {}


@series("relations.same-after-others", scenario="one-after-many")
def earlier_requests_do_not_matter(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A seeded request has the same answer after requests of every other kind, if it has the same answer twice."""
    if not any(step.name == "drawn-first" for step in context.scenario.steps):
        raise NotExercised("the contract does not allow the seeded request")
    drawn = {name: item for name, item in exchanges.items() if name.startswith("drawn") and not why_unanswered(item)}
    if not {"drawn-first", "drawn-again"} <= drawn.keys():
        raise NotObserved("the seeded request was not answered")
    first = drawn["drawn-first"]
    if compare_answers(first, drawn["drawn-again"]) != "none":
        raise NotExercised("seeded answers of this server do not repeat")
    for name, exchange in drawn.items():
        if compare_answers(first, exchange) == "clear":
            where = f"/{name}/choices/0/message/content"
            yield Finding(where, repr(first.content())[:200], repr(exchange.content())[:200])


def _by_request(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[tuple[str, list[Exchange]]]:
    """Yield the name of each request that is repeated through the run, with its answers in the order of sending."""
    steps = [step for step in context.scenario.steps if step.name in exchanges]
    for part in dict.fromkeys(step.part for step in steps):
        answers = [exchanges[step.name] for step in steps if step.part == part]
        answers = [answer for answer in answers if why_unanswered(answer) is None]
        if len(answers) > 2:
            yield part, answers


@series("relations.same-throughout", scenario="anchors")
def answers_stay_the_same_throughout(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """The same greedy or seeded request has the same answer from the first request of the run to the last.

    Not judged for a request without an answer that half of its repetitions share. Reported if rounding cannot explain
    the others: log-probabilities show it, or several answers clearly differ.
    """
    compared, odd = False, []
    for part, answers in _by_request(exchanges, context):
        shape, number = Counter(map(shape_of, answers)).most_common(1)[0]  # the earliest of several
        if 2 * number < len(answers):
            continue
        compared = True
        usual = next(answer for answer in answers if shape_of(answer) == shape)
        for answer in answers:
            if compare_answers(usual, answer) == "clear":
                where = f"/{answer.step}/choices/0/message"
                odd.append((part, Finding(where, repr(usual.content())[:200], repr(answer.content())[:200])))
    if not compared:
        raise NotExercised("no request has the same answer most of the time")
    if len(odd) > 1 or any(part == TOLD for part, _ in odd):
        yield from (finding for _, finding in odd)


@series("relations.counted-the-same-throughout", scenario="anchors")
def tokens_are_counted_the_same_throughout(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Usage counts the same tokens for the same request and answer, from the first request of the run to the last."""
    compared = False
    for _, answers in _by_request(exchanges, context):
        groups: dict[Any, list[Exchange]] = {}
        for answer in answers:
            groups.setdefault(shape_of(answer), []).append(answer)
        for same in groups.values():
            counts = [[(answer.usage or {}).get(name) for name in COUNTS] for answer in same]
            if len(same) < 2 or counts[0] == [None, None, None]:
                continue
            compared = True
            usual = Counter(map(str, counts)).most_common(1)[0][0]
            for answer, count in zip(same, counts, strict=True):
                if str(count) != usual:
                    yield Finding(f"/{answer.step}/usage", f"{usual} ({', '.join(COUNTS)})", f"{count}")
    if not compared:
        raise NotExercised("no answer that repeats has usage")
