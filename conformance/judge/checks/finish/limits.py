"""Limits of an answer: what they cut off ends with "length", and nothing else does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, NotObserved, check, relation, series
from conformance.judge.applicability import ANSWER, UNENDING, in_scenario, why_unanswered
from conformance.judge.evidence.own_limit import require_no_own_limit
from conformance.judge.evidence.repetition import require_repetition
from conformance.judge.token_counts import LIMITED_STEPS, SAFE_LIMIT, STREAMED_CUTS, completion_count, requested_limit
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

FEW_CHARACTERS = 8  # a few characters less may be part of the last token
VERY_SHORT = 2  # tokens; every server's own limit is higher
UNLIMITED = ("unlimited", "nulled")


@check("finish.null-limits-nothing", on=in_scenario("max_tokens-null-accepted"))
def a_limit_of_null_limits_nothing(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With `max_tokens: null` an answer is not cut off after a token or two: null means no limit, not 0 or 1."""
    if exchange.status is not None and 400 <= exchange.status < 500:
        raise NotExercised("null is refused")
    if reason := why_unanswered(exchange):
        raise NotObserved(reason)
    found = completion_count(exchange)
    if found <= VERY_SHORT and exchange.finish_reason() == "length":
        yield Finding(
            "/choices/0/finish_reason",
            "no limit, or the server's own",
            f"length after {format_quantity(found, 'token')}",
        )


@series("finish.unlimited-goes-on", scenario="length-without-a-limit")
def an_answer_without_a_limit_goes_on(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Without max_tokens, or with null, a greedy answer is not shorter than with a limit of 100: no other limit
    replaces it, nor that of an earlier request.

    The stream is left where it is as long as the limited answer. Only a complete one, which the server ended, is
    compared. If it ends with "stop", two ends may be almost equally likely, so other greedy answers must repeat.
    """
    limited = exchanges.get("limited")
    if limited is None or "unlimited" not in exchanges:
        raise NotExercised("not all of its requests were sent")
    if reason := why_unanswered(limited):
        raise NotObserved(reason)
    text = _text_of(limited)
    for name, exchange in exchanges.items():
        if name not in UNLIMITED:
            continue
        failure = exchange.failure
        if exchange.response is not None and failure is not None and failure.kind == "disconnected-by-us":
            continue
        if reason := why_unanswered(exchange):
            if name == "nulled":
                continue  # other requirements judge whether null is accepted
            raise NotObserved(reason)
        found = _text_of(exchange)
        if text.startswith(found) and len(text) - len(found) > FEW_CHARACTERS:
            if exchange.finish_reason() != "length":
                require_repetition(context)
            yield Finding(f"/{name}/choices/0/message/content", repr(text)[:200], repr(found)[:200])


def _text_of(exchange: Exchange) -> str:
    """Return the reasoning and the text of an answer, without part of a character at its end."""
    whole = "".join(choice.reasoning + choice.content for choice in exchange.choices.values())
    return whole.strip().rstrip("\ufffd")


@check("finish.length-when-cut", on=UNENDING)
def reason_is_length_when_the_limit_cuts(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every choice that a limit cuts off ends with "length", streamed and plain.

    The requests ignore the end-of-sequence token, so only max_tokens or the server's own limit can end them.
    """
    for index in exchange.choices:
        found = exchange.finish_reason(index)
        if found != "length":
            yield Finding(f"/choices/{index}/finish_reason", "length", repr(found))


@check("finish.length-only-at-limit", on=ANSWER)
def length_means_that_the_limit_was_reached(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """An answer that ends with "length" has max_tokens tokens, unless the server's own limit is lower."""
    if exchange.finish_reason() != "length":
        raise NotExercised("the answer did not end with length")
    if len(exchange.choices) > 1:
        raise NotExercised("usage sums over several choices")
    limit, found = requested_limit(exchange), completion_count(exchange)
    if SAFE_LIMIT <= found < limit:
        raise NotExercised("the server's own limit may be lower than max_tokens")
    if found < limit:
        require_no_own_limit(exchange, context)
        expected = f"length only after {min(limit, SAFE_LIMIT)} tokens"
        yield Finding("/choices/0/finish_reason", expected, f"length after {format_quantity(found, 'token')}")


@relation("finish.length-when-more-follows", over=LIMITED_STEPS, unmet=why_unanswered)
def reason_is_length_when_more_would_follow(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer that a small max_tokens cuts off, although the same greedy answer continues, ends with "length"."""
    yield from _cut_with_another_reason(exchanges)


@relation("finish.length-when-stream-cut", over=("whole", *STREAMED_CUTS), unmet=why_unanswered)
def reason_is_length_when_more_would_be_streamed(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A stream that a small max_tokens cuts off, although the same greedy answer continues, ends with "length"."""
    yield from _cut_with_another_reason(exchanges)


def _cut_with_another_reason(exchanges: Mapping[str, Exchange]) -> Iterator[Finding]:
    """Yield a finding for each answer that lacks the end of the whole one, and ends with another reason than length."""
    whole = exchanges["whole"].content() or ""
    for name in exchanges:
        text = (exchanges[name].content() or "").rstrip("\ufffd")
        if not whole.startswith(text):
            raise NotExercised("the greedy answer did not repeat")
        found = exchanges[name].finish_reason()
        if len(text) < len(whole) and found != "length":
            yield Finding(f"/{name}/choices/0/finish_reason", "length", repr(found))


@relation(
    "finish.length-when-choices-cut",
    over=("seeded-choices", "seeded-choices-again", "cut-choices"),
    unmet=why_unanswered,
)
def each_choice_that_is_cut_ends_with_length(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Each of several choices that a small max_tokens cuts off, and that continues with a greater one, ends with
    "length".
    """
    whole, again, cut = (
        {at: choice.content for at, choice in exchanges[name].choices.items()}
        for name in ("seeded-choices", "seeded-choices-again", "cut-choices")
    )
    stable = {at: text.rstrip("\ufffd") for at, text in cut.items()}
    if whole != again or any(not whole.get(at, "").startswith(text) for at, text in stable.items()):
        raise NotExercised("seeded answers of this server do not repeat")
    ended = [at for at, text in stable.items() if text and len(whole[at]) > len(text)]
    if not ended:
        raise NotExercised("no choice was cut off")
    for index in ended:
        if (found := exchanges["cut-choices"].finish_reason(index)) != "length":
            yield Finding(f"/cut-choices/choices/{index}/finish_reason", "length", repr(found))


@relation("finish.length-when-form-cut", over=("person", "person-cut"), unmet=why_unanswered)
def a_cut_form_ends_with_length(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """JSON of a schema that max_tokens cuts off ends with "length", so that no client takes it as complete."""
    whole, text = (exchanges[name].content() or "" for name in ("person", "person-cut"))
    if not text or not whole.startswith(text) or len(whole) <= len(text):
        raise NotExercised("nothing was cut off, or greedy answers of this server do not repeat")
    found = exchanges["person-cut"].finish_reason()
    if found != "length":
        yield Finding("/person-cut/choices/0/finish_reason", "length", repr(found))
