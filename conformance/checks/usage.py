"""Usage: the arithmetic of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NoOccasion, NotObserved, check, relation
from conformance.checks.finish import completion_of, limit_of
from conformance.occasion import ANSWER, scenario, unsuccessful

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def _usage(exchange: Exchange) -> dict[str, Any]:
    if exchange.usage is None:
        raise NoOccasion("the answer has no usage")
    return exchange.usage


def _counts(exchange: Exchange) -> tuple[int, int, int]:
    found = [_usage(exchange).get(name) for name in COUNTS]
    if not all(type(value) is int for value in found):
        raise NotObserved("usage is not made of integers")
    prompt, completion, total = found
    return prompt, completion, total  # type: ignore[return-value]  # checked above


@check("usage.counts-are-integers", on=ANSWER)
def counts_are_integers(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The three counts of usage are integers that are not negative."""
    usage = _usage(exchange)
    for name in COUNTS:
        value = usage.get(name)
        if type(value) is not int or value < 0:
            yield Finding(f"/usage/{name}", "an integer, not negative", repr(value))


@check("usage.total-is-sum", on=ANSWER)
def total_is_the_sum(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """total_tokens is prompt_tokens + completion_tokens."""
    prompt, completion, total = _counts(exchange)
    if total != prompt + completion:
        yield Finding("/usage/total_tokens", f"{prompt} + {completion} = {prompt + completion}", f"{total}")


@check("usage.prompt-counted", on=ANSWER)
def prompt_is_counted(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """prompt_tokens is greater than 0: every prompt has tokens."""
    prompt, _completion, _total = _counts(exchange)
    if prompt < 1:
        yield Finding("/usage/prompt_tokens", "at least 1", f"{prompt}")


@check("usage.completion-counted", on=ANSWER)
def completion_is_counted(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that holds text or reasoning counts at least one completion token."""
    _prompt, completion, _total = _counts(exchange)
    if not any(folded.content or folded.reasoning for folded in exchange.choices.values()):
        raise NoOccasion("the answer holds no text")
    if completion < 1:
        yield Finding("/usage/completion_tokens", "at least 1", f"{completion}")


@check("usage.completion-within-limit", on=ANSWER)
def completion_stays_within_max_tokens(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """completion_tokens is at most max_tokens for each choice."""
    limit, found = limit_of(exchange), completion_of(exchange)
    sent: Any = exchange.request_json
    width = max(
        [len(exchange.choices), *(value for value in (sent.get("n"), sent.get("best_of")) if type(value) is int)]
    )
    if found > limit * max(width, 1):
        yield Finding("/usage/completion_tokens", f"at most {limit} for each of {width}", f"{found}")


@check("usage.completion-reaches-limit", on=scenario("cut-*"))
def completion_reaches_max_tokens_when_cut(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that max_tokens cuts off counts exactly max_tokens."""
    if lack := unsuccessful(exchange):
        raise NotObserved(lack)
    limit, found = limit_of(exchange), completion_of(exchange)
    if found != limit:
        yield Finding("/usage/completion_tokens", f"{limit}", f"{found}")


@relation("usage.prompt-grows", over=("short", "long"), lacks=unsuccessful)
def prompt_tokens_grow_with_the_prompt(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A prompt that contains another one and much more counts more tokens."""
    short, _short_completion, _short_total = _counts(exchanges["short"])
    long, _long_completion, _long_total = _counts(exchanges["long"])
    if long <= short:
        yield Finding("/usage/prompt_tokens", f"more than {short}", f"{long}")


@relation("usage.streamed-as-plain", over=("plain", "streamed"), lacks=unsuccessful)
def streamed_usage_equals_the_plain_one(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request counts the same tokens, streamed and plain."""
    plain, streamed = exchanges["plain"], exchanges["streamed"]
    if plain.content() != streamed.content():
        raise NoOccasion("the texts differ, so their tokens may differ")
    expected, found = _counts(plain), _counts(streamed)
    if expected != found:
        yield Finding(
            "/usage", f"{dict(zip(COUNTS, expected, strict=True))}", f"{dict(zip(COUNTS, found, strict=True))}"
        )
