"""Checks of the role and the text in deltas."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, check, relation
from conformance.judge.answer_fields import possible_roles
from conformance.judge.applicability import STREAM, STREAMED_ANSWER, at_temperature_0, not_generated, why_unanswered
from conformance.judge.evidence.cut_characters import require_cut_by_server
from conformance.judge.evidence.repetition import require_repetition
from conformance.judge.logprob_entries import CUT
from conformance.judge.streams import choices, chunks, deltas, order_findings
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange
    from openapi.stream.accumulated_choice import AccumulatedChoice

MAX_ROLES = 2
MIN_DELTAS = 5
MIN_CHARACTERS = 16
MIN_DIFFERENT = 4


@check("stream.role-assistant", on=STREAM)
def role_is_assistant_where_given(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A role, if a delta has one, is "assistant".

    In some dialects it is the role of the last message if the request adds no prompt for the assistant.
    """
    possible = possible_roles(exchange, context)
    for where, delta in deltas(exchange):
        if delta.get("role") not in (None, *possible):
            yield Finding(f"{where}/role", " or ".join(possible), repr(delta["role"]))


@check("stream.role-in-every-delta", on=STREAM)
def role_is_in_every_delta(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every delta has the role, as in the dialect's examples. The last one may be empty."""
    for at, chunk in chunks(exchange):
        for choice in choices(chunk):
            delta = choice.get("delta")
            is_empty_end = delta == {} and choice.get("finish_reason") is not None
            if isinstance(delta, dict) and delta.get("role") != "assistant" and not is_empty_end:
                where = f"/events/{at}/choices/{choice.get('index')}/delta/role"
                yield Finding(where, "assistant", repr(delta.get("role")))
                return


@check("stream.role-before-text", on=STREAM)
def role_comes_before_the_text(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The role of a choice, if one is sent, comes no later than its first text."""
    if len(possible_roles(exchange, context)) > 1:
        raise NotExercised("the answer may have the role of the last message")
    yield from order_findings(exchange, "role-first")


@check("stream.role-given", on=STREAMED_ANSWER)
def role_is_sent(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The deltas of every choice include the role; otherwise clients that accumulate deltas have none."""
    for index, choice in exchange.choices.items():
        if not choice.roles:
            yield Finding(f"/events/*/choices/{index}/delta/role", "assistant", "no role in any delta")


@check("stream.role-not-repeated", on=STREAMED_ANSWER)
def role_is_not_sent_with_every_text(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The role is not repeated with every text; otherwise clients that join strings read "assistantassistant".

    Two roles are allowed: some servers open with a chunk that has only the role and repeat it with the first text.
    """
    for index, choice in exchange.choices.items():
        if len(choice.roles) > MAX_ROLES:
            where = f"/events/*/choices/{index}/delta/role"
            yield Finding(where, f"at most {MAX_ROLES} times", format_quantity(len(choice.roles), "time"))


def _long_choices(exchange: Exchange) -> Iterator[tuple[int, AccumulatedChoice]]:
    """Yield the choices whose texts are so numerous, long and varied that they do not repeat by chance."""
    if exchange.walk.full_texts:
        raise NotExercised("the stream sends its full text")
    long = [
        (index, choice)
        for index, choice in exchange.choices.items()
        if len(choice.deltas) >= MIN_DELTAS
        and len(choice.content_incremental) >= MIN_CHARACTERS
        and len(set(choice.content_incremental)) >= MIN_DIFFERENT
    ]
    if not long:
        raise NotExercised("the answer is too short")
    yield from long


@check("stream.deltas-add-up", on=not_generated(STREAMED_ANSWER))
def deltas_are_not_cumulative(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A delta has only the new text, not the whole text so far.

    Reported for a stream without `full_text` in which each of five or more texts begins with the previous one and is
    longer; the last may be a repetition.
    """
    for index, choice in _long_choices(exchange):
        texts = choice.deltas
        if all(later.startswith(earlier) for earlier, later in pairwise(texts)) and len(set(texts)) >= len(texts) - 1:
            yield Finding(f"/events/*/choices/{index}/delta/content", "only new text", f"{texts[-1]!r}"[:80])


@check("stream.text-not-repeated", on=not_generated(STREAMED_ANSWER))
def no_delta_repeats_the_whole_text(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No delta repeats the whole text so far, as the last one of some servers does."""
    for index, choice in _long_choices(exchange):
        for at, so_far in enumerate(accumulate(choice.deltas[:-1]), 1):
            if at >= MIN_DELTAS and len(so_far) >= MIN_CHARACTERS and choice.deltas[at] == so_far:
                where = f"/events/{choice.delta_at[at]}/choices/{index}/delta/content"
                yield Finding(where, "only new text", f"the whole text: {so_far!r}"[:80])


@check("stream.full-text-is-whole", on=STREAMED_ANSWER)
def full_text_is_the_whole_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`full_text` of a choice, if present, is the text that its deltas add up to."""
    for index, whole in exchange.walk.full_texts.items():
        choice = exchange.choices.get(index)
        if choice is None:
            continue
        last = choice.deltas[-1] if choice.deltas else ""
        if whole not in (last, choice.content_incremental):
            yield Finding(f"/events/*/full_text of choice {index}", repr(last)[:80], repr(whole)[:80])


@check("stream.text-well-encoded", on=at_temperature_0(not_generated(STREAM)))
def streamed_text_holds_no_replacement_character(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """No delta has U+FFFD, which replaces a character that was cut between two chunks.

    Not judged if the model may generate invalid UTF-8 itself.
    """
    require_cut_by_server(exchange, context)
    for index, choice in exchange.choices.items():
        for at, text in zip(choice.delta_at, choice.deltas, strict=True):
            if CUT in text:
                yield Finding(f"/events/{at}/choices/{index}/delta/content", "whole characters", repr(text)[:80])


def _text_of(exchange: Exchange) -> str:
    """Return the text of the first choice, without the white space around it if there are calls."""
    text = exchange.content() or ""
    choice = exchange.first_choice
    return text.strip() if choice is not None and choice.tool_calls else text


@relation("stream.text-as-plain", over=("plain", "streamed", "plain-again", "streamed-again"), unmet=why_unanswered)
def streamed_text_equals_the_plain_one(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """The same greedy request gives the same text, streamed and plain.

    Both requests are sent twice. A difference is reported only if the plain answers agree with each other, the streamed
    ones do, and all other greedy answers of the run repeat. White space next to calls does not count: it may be left
    out of the markup around them.
    """
    require_repetition(context)
    texts = {name: _text_of(exchange) for name, exchange in exchanges.items()}
    if texts["plain"] != texts["plain-again"] or texts["streamed"] != texts["streamed-again"]:
        raise NotExercised("greedy answers of this server do not repeat")
    if texts["plain"] != texts["streamed"]:
        yield Finding(
            "/choices/0/message/content", repr(texts["plain"])[:200], f"streamed: {texts['streamed']!r}"[:200]
        )
