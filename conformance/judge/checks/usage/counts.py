"""Checks of the token counts in usage: whether they add up and agree with the answer."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, check, relation
from conformance.judge.applicability import ANSWER, PLAIN_ANSWER, UNENDING, require_choices, why_unanswered
from conformance.judge.token_counts import (
    COUNTS,
    LIMITED_STEPS,
    SAFE_LIMIT,
    comparable_counts,
    completion_count,
    has_text,
    requested_limit,
    usage_counts,
    usage_object,
)
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


@check("usage.counts-are-integers", on=ANSWER)
def counts_are_integers(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The three counts of usage are integers that are not negative."""
    usage = usage_object(exchange)
    for name in COUNTS:
        value = usage.get(name)
        if type(value) is not int or value < 0:
            yield Finding(f"/usage/{name}", "an integer that is not negative", repr(value))


@check("usage.total-is-sum", on=ANSWER)
def total_is_the_sum(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """total_tokens is prompt_tokens + completion_tokens."""
    prompt, completion, total = usage_counts(exchange)
    if total != prompt + completion:
        yield Finding("/usage/total_tokens", f"{prompt} + {completion} = {prompt + completion}", f"{total}")


@check("usage.prompt-counted", on=ANSWER)
def prompt_is_counted(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """prompt_tokens is greater than 0: every prompt has tokens."""
    prompt, _completion, _total = usage_counts(exchange)
    if prompt < 1:
        yield Finding("/usage/prompt_tokens", "at least 1", f"{prompt}")


@check("usage.completion-counted", on=ANSWER)
def completion_is_counted(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer with text, reasoning or a tool call counts at least one completion token."""
    _prompt, completion, _total = usage_counts(exchange)
    if not has_text(exchange):
        raise NotExercised("the answer has no text")
    if completion < 1:
        yield Finding("/usage/completion_tokens", "at least 1", f"{completion}")


@check("usage.completion-within-limit", on=ANSWER)
def completion_stays_within_max_tokens(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """completion_tokens is at most max_tokens for each choice."""
    limit, found = requested_limit(exchange), completion_count(exchange)
    sent: Any = exchange.request_json
    numbers = [value for value in (sent.get("n"), sent.get("best_of")) if type(value) in (int, float)]  # 2.0 is 2
    candidates = int(max([1, len(exchange.choices), *numbers]))
    if found > limit * candidates:
        yield Finding(
            "/usage/completion_tokens",
            f"at most {limit} for each of {format_quantity(candidates, 'candidate')}",
            f"{found}",
        )


@check("usage.completion-reaches-limit", on=UNENDING)
def completion_reaches_max_tokens_when_cut(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that max_tokens cuts off counts exactly max_tokens, streamed and plain."""
    limit, found = requested_limit(exchange), completion_count(exchange)
    sent: Any = exchange.request_json
    if len(exchange.choices) > 1 or any((sent.get(name) or 1) != 1 for name in ("n", "best_of")):
        raise NotExercised("usage covers several sequences")
    if found < limit and limit > SAFE_LIMIT:
        raise NotExercised("the server's own limit may be lower than max_tokens")
    if found != limit:
        yield Finding("/usage/completion_tokens", f"{limit}", f"{found}")


@relation("usage.streamed-as-plain", over=("plain", "streamed"), unmet=why_unanswered)
def streamed_usage_equals_the_plain_one(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request counts the same number of tokens, streamed and plain."""
    plain, streamed = exchanges["plain"], exchanges["streamed"]
    if plain.request_json["messages"] != streamed.request_json["messages"]:
        raise NotExercised("the prompts differ")
    if plain.content() != streamed.content():
        raise NotExercised("the texts differ, so their tokens may differ")
    expected, found = comparable_counts(plain), comparable_counts(streamed)
    if expected != found:
        yield Finding(
            "/usage", f"{dict(zip(COUNTS, expected, strict=True))}", f"{dict(zip(COUNTS, found, strict=True))}"
        )


@relation("usage.completion-grows", over=LIMITED_STEPS, unmet=why_unanswered)
def completion_tokens_grow_with_the_limit(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer that begins with another answer counts at least as many tokens as that one."""
    for shorter, longer in pairwise(LIMITED_STEPS[1:]):
        text, more = (exchanges[name].content() or "" for name in (shorter, longer))
        if not more.startswith(text.rstrip("\ufffd")):
            raise NotExercised("the greedy answer did not repeat")
        fewer, many = (comparable_counts(exchanges[name])[1] for name in (shorter, longer))
        if many < fewer:
            yield Finding(f"/{longer}/usage/completion_tokens", f"at least {fewer}", f"{many}")


@check("usage.choices-summed", on=ANSWER)
def tokens_of_all_choices_are_summed(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """completion_tokens counts all choices: each that max_tokens cuts off, with the reason "length", counts max_tokens.

    Sequences that were generated but not returned (best_of, beams) may be counted too.
    """
    cut = sum(exchange.finish_reason(index) == "length" for index in exchange.choices)
    if len(exchange.choices) < 2 or not cut:
        raise NotExercised("the answer does not have several choices with one that max_tokens cut off")
    if exchange.is_stream and len(exchange.walk.usages) > 1:
        raise NotExercised("the stream has usage more than once")
    limit, found = requested_limit(exchange), completion_count(exchange)
    if limit > SAFE_LIMIT:
        raise NotExercised("the server's own limit may be lower than max_tokens")
    if found < limit * cut:
        expected = f"{limit} for each of {format_quantity(cut, 'choice that was', 'choices that were')} cut off"
        yield Finding("/usage/completion_tokens", expected, f"{found}")


@check("usage.details-within-totals", on=ANSWER)
def details_are_parts_of_their_totals(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every count in a details object is an integer from 0 to the total that it is part of."""
    usage = usage_object(exchange)
    seen = False
    for total in ("prompt_tokens", "completion_tokens"):
        details = usage.get(f"{total}_details")
        for name, part in details.items() if isinstance(details, dict) else ():
            if part is None or not name.endswith("_tokens"):
                continue
            seen = True
            whole = usage.get(total)
            most = whole if type(whole) is int and whole >= 0 else None  # a wrong total is not a bound
            if type(part) is not int or part < 0 or (most is not None and part > most):
                expected = "an integer of 0 or more" if most is None else f"an integer from 0 to {most}"
                yield Finding(f"/usage/{total}_details/{name}", expected, repr(part)[:80])
    if not seen:
        raise NotExercised("usage has no details")


@check("usage.one-entry-per-token", on=PLAIN_ANSWER)
def lists_have_one_entry_for_each_token(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Lists of measurements in usage have one entry for each completion token, as in the document's examples."""
    usage = usage_object(exchange)
    lists = {name: usage[name] for name in ("batch_size", "queue_wait_time") if isinstance(usage.get(name), list)}
    if not lists or len(exchange.choices) > 1:
        raise NotExercised("usage has no lists, or covers several choices")
    completion = completion_count(exchange)
    for name, entries in lists.items():
        if len(entries) != completion:
            yield Finding(
                f"/usage/{name}",
                format_quantity(completion, "entry", "entries"),
                format_quantity(len(entries), "entry", "entries"),
            )


@relation(
    "usage.streamed-choices-as-plain",
    over=("seeded-choices", "seeded-choices-again", "streamed-choices"),
)
def usage_of_streamed_choices_is_the_plain_one(
    exchanges: Mapping[str, Exchange], context: Context
) -> Iterator[Finding]:
    """Several choices with the same texts count the same number of tokens, streamed and plain.

    Judged if the stream has usage once, not once for each choice.
    """
    require_choices(exchanges, context)
    plain, streamed = exchanges["seeded-choices"], exchanges["streamed-choices"]
    if sum(isinstance(chunk.get("usage"), dict) for _, chunk in streamed.walk.chunks) > 1:
        raise NotExercised("the stream has usage more than once")
    texts = [{at: choice.content for at, choice in exchange.choices.items()} for exchange in (plain, streamed)]
    ends = [[exchange.finish_reason(at) for at in sorted(exchange.choices)] for exchange in (plain, streamed)]
    expected, again, found = (
        comparable_counts(plain),
        comparable_counts(exchanges["seeded-choices-again"]),
        comparable_counts(streamed),
    )
    if texts[0] != texts[1] or ends[0] != ends[1] or expected != again:
        raise NotExercised("the answers differ, so their tokens may differ")
    if expected != found:
        yield Finding(
            "/usage", f"{dict(zip(COUNTS, expected, strict=True))}", f"{dict(zip(COUNTS, found, strict=True))}"
        )


@relation("usage.stopped-counts-no-more", over=("baseline", "stopped"), unmet=why_unanswered)
def a_stopped_answer_counts_no_more(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer that a stop string cuts short counts no more tokens than the whole one."""
    whole, text = (exchanges[name].content() or "" for name in ("baseline", "stopped"))
    if not whole.startswith(text) or len(whole) == len(text):
        raise NotExercised("nothing was cut off, or greedy answers of this server do not repeat")
    most, found = (comparable_counts(exchanges[name])[1] for name in ("baseline", "stopped"))
    if found > most:
        yield Finding("/stopped/usage/completion_tokens", f"at most {most}", f"{found}")
