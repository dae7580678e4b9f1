"""Finish reasons of answers that end by themselves or at a stop string, and that each choice has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, check, relation, series
from conformance.judge.answer_fields import FINISH_REASONS, choices_of
from conformance.judge.applicability import PLAIN_ANSWER, STOPPED_BY_TEXT, why_unanswered
from conformance.judge.checks.effects.beside import BESIDE, KEPT_BESIDE
from conformance.judge.token_counts import completion_count, requested_limit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


@check("finish.reason-known", on=PLAIN_ANSWER)
def reason_is_a_documented_one(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every choice of a plain answer ends with a documented reason: stop, length or tool_calls."""
    for index in exchange.choices:
        found = exchange.finish_reason(index)
        if found not in FINISH_REASONS:
            yield Finding(f"/choices/{index}/finish_reason", " or ".join(FINISH_REASONS), repr(found))


@check("finish.stop-when-stopped", on=STOPPED_BY_TEXT)
def reason_is_stop_after_a_stop_text(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every choice that a stop string ends has the reason "stop", streamed and plain."""
    stop = exchange.request_json.get("stop")
    for index, choice in exchange.choices.items():
        found = choice.finish_reason
        absent = not any(text in choice.content for text in ([stop] if isinstance(stop, str) else stop or ()))
        if found == "length" and absent and _has_reached_limit(exchange):
            raise NotExercised("the answer reached its limit before a stop string")
        if found != "stop":
            yield Finding(f"/choices/{index}/finish_reason", "stop", repr(found))


@relation("finish.stop-when-stream-stopped", over=("baseline", "stopped-streamed"), unmet=why_unanswered)
def reason_is_stop_after_a_streamed_stop_text(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A stream that ends where its stop string is in the unstopped answer has the reason "stop".

    The end is the evidence, because streams of many servers have no usage.
    """
    whole, streamed = exchanges["baseline"].content() or "", exchanges["stopped-streamed"]
    stop = streamed.request_json.get("stop")
    if not isinstance(stop, str) or streamed.content() not in (
        whole[: whole.find(stop)],
        whole[: whole.find(stop) + len(stop)],
    ):
        raise NotExercised("the stream does not end with its stop string")
    if streamed.finish_reason() != "stop":
        yield Finding("/stopped-streamed/choices/0/finish_reason", "stop", repr(streamed.finish_reason()))


def _has_reached_limit(exchange: Exchange) -> bool:
    """Tell whether the choices that end at the limit may all have as many tokens as the request allows.

    Sampled choices of one answer end apart: one may be in a script in which the stop strings do not occur.
    """
    at_limit = sum(choice.finish_reason == "length" for choice in exchange.choices.values())
    return completion_count(exchange) >= requested_limit(exchange) * at_limit


@relation("finish.streamed-as-plain", over=("plain", "streamed"), unmet=why_unanswered)
def streamed_reason_equals_the_plain_one(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request ends for the same reason, streamed and plain.

    Answers that call tools have a requirement of their own for streams.
    """
    plain, streamed = exchanges["plain"], exchanges["streamed"]
    if any(choice.tool_calls for exchange in (plain, streamed) for choice in exchange.choices.values()):
        raise NotExercised("a tool is called")
    if plain.content() != streamed.content():
        raise NotExercised("the texts differ, so their finish reasons may differ")
    if plain.finish_reason() != streamed.finish_reason():
        yield Finding("/choices/0/finish_reason", repr(plain.finish_reason()), repr(streamed.finish_reason()))


@series("finish.beside-as-alone", scenario=KEPT_BESIDE)
def choices_beside_others_end_as_alone(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A choice of a stream with many other parameters that has the text of a plain answer which ended by itself ends
    with "stop", too.
    """
    judged = False
    for name, alone in exchanges.items():
        beside = exchanges.get(f"{name}{BESIDE}")
        if beside is None or why_unanswered(alone) or why_unanswered(beside) or alone.finish_reason() != "stop":
            continue
        if requested_limit(beside) < requested_limit(alone):
            continue
        for index, choice in beside.choices.items():
            if choice.content and choice.content == alone.content():
                judged = True
                if choice.finish_reason != "stop":
                    where = f"/{name}{BESIDE}/choices/{index}/finish_reason"
                    yield Finding(where, "stop", repr(choice.finish_reason))
    if not judged:
        raise NotExercised("no choice has the text of an answer that ended by itself")


@relation("finish.of-each-choice", over=("seeded-choices", "halted-second"), unmet=why_unanswered)
def each_choice_has_its_own_reason(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """If a stop string occurs in one choice only, that one ends with "stop", and the others as they do without it.

    Not judged if choices with a seed do not repeat.
    """
    whole, halted = exchanges["seeded-choices"].choices, exchanges["halted-second"].choices
    stop: Any = exchanges["halted-second"].request_json["stop"]
    kept = {index for index, choice in whole.items() if stop not in choice.content}
    repeated = all(index in halted and whole[index].content == halted[index].content for index in kept)
    if not kept or not repeated or not halted.keys() == whole.keys():
        raise NotExercised("the choices with this seed do not repeat")
    for index, choice in halted.items():
        expected = whole[index].finish_reason if index in kept else "stop"
        if choice.finish_reason != expected:
            yield Finding(f"/halted-second/choices/{index}/finish_reason", repr(expected), repr(choice.finish_reason))


@check("finish.reason-given", on=PLAIN_ANSWER)
def every_choice_says_why_it_ended(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every choice of a plain answer has a finish reason that is a string and not empty."""
    for at, choice in enumerate(choices_of(exchange)):
        found = choice.get("finish_reason")
        if not isinstance(found, str) or not found:
            yield Finding(f"/choices/{at}/finish_reason", "a reason", repr(found))


@relation("finish.stop-when-ended", over=("whole", "roomy"), unmet=why_unanswered)
def reason_is_stop_when_the_model_ends(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer that stays the same with a greater max_tokens has ended by itself, with "stop"."""
    whole, roomy = exchanges["whole"], exchanges["roomy"]
    if whole.content() != roomy.content() or completion_count(whole) >= requested_limit(whole):
        raise NotExercised("the answer may not have ended by itself")
    for name, exchange in exchanges.items():
        if exchange.finish_reason() != "stop":
            yield Finding(f"/{name}/choices/0/finish_reason", "stop", repr(exchange.finish_reason()))
