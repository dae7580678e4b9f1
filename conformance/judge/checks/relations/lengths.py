"""Checks of answers with other limits and of long prompts: what is shorter is a beginning of what is longer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, relation, series
from conformance.judge.acceptance import is_refused
from conformance.judge.applicability import summarize, why_unanswered
from conformance.judge.checks.usage.prompt import require_accepted
from conformance.judge.evidence.answer_difference import compare_answers
from conformance.judge.evidence.repetition import require_repetition, require_some_repetition
from conformance.judge.token_counts import LIMITED_STEPS, STREAMED_CUTS
from conformance.text_diff import differ_by_one_gap
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

SEVERAL = 4  # tokens: one or two may be special tokens or part of a character
FEW_CHARACTERS = 40  # in a shorter text a common beginning and end may be chance


@relation("relations.shorter-is-a-beginning", over=LIMITED_STEPS, unmet=why_unanswered)
def a_shorter_limit_gives_a_beginning(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A greedy answer that max_tokens cuts off is the beginning of the whole one, at every length.

    Reported if something was lost or repeated. An answer that diverges only shows that greedy answers do not repeat.
    """
    require_repetition(context)
    texts = {name: exchanges[name].content() or "" for name in LIMITED_STEPS}
    yield from _beginnings(texts["whole"], {name: texts[name] for name in LIMITED_STEPS[1:]})


@relation("relations.streamed-cut-as-plain", over=("whole", *LIMITED_STEPS[1:], *STREAMED_CUTS), unmet=why_unanswered)
def a_cut_stream_is_the_cut_answer(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A stream that is cut off at any length has the text of the plain answer: nothing is lost at the end.

    Part of a character may be left out or written as U+FFFD, but both forms must do the same.
    """
    whole = exchanges["whole"].content() or ""
    for plain, streamed in zip(LIMITED_STEPS[1:], STREAMED_CUTS, strict=True):
        text, found = (exchanges[name].content() or "" for name in (plain, streamed))
        if not whole.startswith(text.rstrip("\ufffd")):
            raise NotExercised("greedy answers of this server do not repeat")
        if text != found and (whole.startswith(found.rstrip("\ufffd")) or "\ufffd" in found):
            yield Finding(f"/{streamed}/choices/0/message/content", repr(text), repr(found))


def _beginnings(whole: str, cuts: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a finding for each cut answer that is not a beginning of the whole one, or is shorter than the previous
    one.
    """
    findings: list[Finding] = []
    before = ""
    for name, text in cuts.items():
        kept = text.rstrip("\ufffd")
        if not whole.startswith(kept):
            if not kept or not (kept[0] == whole[:1] or kept in whole):
                raise NotExercised("greedy answers of this server do not repeat")
            findings.append(
                Finding(f"/{name}/choices/0/message/content", f"a beginning of {whole!r}"[:200], repr(text))
            )
        elif len(kept) < len(before):
            findings.append(Finding(f"/{name}/choices/0/message/content", f"{before!r} or more", repr(text)))
        before = kept
    if len(findings) > len(cuts) // 2 and not any(cuts.values()):
        raise NotExercised("the answers are empty")
    yield from findings


@relation("relations.limit-grows", over=("whole", "roomy"), unmet=why_unanswered)
def more_room_does_not_change_an_ended_answer(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A greedy answer that ended by itself is the same with a greater max_tokens."""
    whole, roomy = exchanges["whole"], exchanges["roomy"]
    sent: Any = whole.request_json
    counted = (whole.usage or {}).get("completion_tokens")
    if whole.finish_reason() != "stop" or type(counted) is not int or counted >= sent["max_tokens"]:
        raise NotExercised("the answer did not end by itself")
    text, found = whole.content() or "", roomy.content() or ""
    if text != found:
        if not (text.startswith(found) or found.startswith(text)):
            raise NotExercised("greedy answers of this server do not repeat")
        yield Finding("/roomy/choices/0/message/content", repr(text)[:200], repr(found)[:200])


@relation("relations.long-streamed", over=("long-plain", "long-again", "long-streamed"), unmet=why_unanswered)
def a_long_stream_loses_and_repeats_nothing(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A long greedy answer is the same streamed and plain: nothing in it is lost or repeated.

    Reported if one text is the other with a piece missing. An answer that diverges only shows that greedy answers do
    not repeat. Part of a character may be written in more than one way.
    """
    plain, streamed = exchanges["long-plain"], exchanges["long-streamed"]
    text, found = plain.content() or "", streamed.content() or ""
    if text != exchanges["long-again"].content():
        raise NotExercised("greedy answers of this server do not repeat")
    if "\ufffd" in text or "\ufffd" in found:
        raise NotExercised("the text has parts of characters")
    if plain.finish_reason() != streamed.finish_reason():
        raise NotExercised("the answers end for different reasons")
    if differ_by_one_gap(text, found, FEW_CHARACTERS, cut=plain.finish_reason() == "length"):
        yield Finding("/long-streamed/choices/0/message/content", repr(text)[-200:], repr(found)[-200:])
    elif text != found:
        raise NotExercised("greedy answers of this server do not repeat")


@relation("relations.long-prompt-repeats", over=("thousand", "thousand-again", "thousand-streamed"))
def a_long_prompt_has_the_same_answer(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A long prompt has the same greedy answer each time, also if it is cached or the answer is streamed."""
    require_accepted(exchanges)
    require_some_repetition(context)
    first, *others = exchanges
    for name in others:
        if compare_answers(exchanges[first], exchanges[name]) == "clear":
            expected, found = (exchanges[key].content() for key in (first, name))
            yield Finding(f"/{name}/choices/0/message/content", repr(expected)[:200], repr(found)[:200])


@relation("relations.long-prompts-answered", over=("few-hundred", "thousand"))
def a_long_prompt_is_answered_with_text(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A long prompt is answered with text if a shorter one is: an answer of several tokens is not empty."""
    require_accepted(exchanges)
    if not _has_text(exchanges["few-hundred"]):
        raise NotExercised("the answer to the shorter prompt is empty")
    counted = (exchanges["thousand"].usage or {}).get("completion_tokens")
    if not _has_text(exchanges["thousand"]) and type(counted) is int and counted >= SEVERAL:
        yield Finding(
            "/thousand/choices/0/message/content", f"the text of {format_quantity(counted, 'token')}", "no text"
        )


@relation("relations.longest-prompt-answered", over=("refused-plain", "refused-streamed"))
def a_prompt_that_may_be_too_long_is_refused_or_answered(
    exchanges: Mapping[str, Exchange], context: Context
) -> Iterator[Finding]:
    """A prompt that may be longer than the context is refused, or answered with text: not silently with nothing.

    Reported if both the plain and the streamed answer have counted tokens and no text.
    """
    if any(is_refused(exchange, context.contract) for exchange in exchanges.values()):
        raise NotExercised("the prompt is refused")
    require_accepted(exchanges)
    counts = [(exchange.usage or {}).get("completion_tokens") for exchange in exchanges.values()]
    silent = [exchange for exchange in exchanges.values() if not _has_text(exchange)]
    if len(silent) == len(exchanges) and 0 not in counts:
        yield Finding("/refused-plain/choices/0/message/content", "text, or a refusal", "no text")


@series("relations.every-text-answered", scenario="texts-of-all-kinds")
def a_text_of_any_kind_is_answered_with_text(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """A question with white space around it, a very long word or marks, and one character, are answered with text if
    a usual question is.

    Not judged if the model ends its answer at once.
    """
    usual = exchanges.get("usual")
    if usual is None or why_unanswered(usual) or not _has_text(usual):
        raise NotExercised("the usual question is not answered with text")
    for name, exchange in exchanges.items():
        if is_refused(exchange, context.contract):
            yield Finding("/messages", f"an answer to {name}, as to the usual question", summarize(exchange))
        if why_unanswered(exchange) or _has_text(exchange):
            continue
        counted = (exchange.usage or {}).get("completion_tokens")
        if exchange.finish_reason() == "length" or (type(counted) is int and counted >= SEVERAL):
            yield Finding(
                f"/{name}/choices/0/message/content", "text, as in the answer to the usual question", "no text"
            )


def _has_text(exchange: Exchange) -> bool:
    """Return whether an answer has text or reasoning."""
    choice = exchange.choices.get(0)
    return choice is not None and bool(choice.content or choice.reasoning or choice.tool_calls)
