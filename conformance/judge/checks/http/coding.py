"""Checks of content codings: what clients that accept gzip and deflate receive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from conformance.check import Context, Finding, NotExercised, NotObserved, check, relation
from conformance.client.content_coding import accepted_codings
from conformance.judge.applicability import ANYTHING, RESPONSE, why_unanswered
from conformance.judge.evidence.answer_difference import compare_answers
from conformance.judge.streams import timed_response
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

CODED_STEPS: Final = ("plain", "plain-again", "plain-gzip", "plain-deflate")
STREAMED_STEPS: Final = ("streamed", "streamed-gzip", "streamed-gzip-again")
LARGE_STEPS: Final = ("streamed", "streamed-large", "streamed-large-again")
MIN_ARRIVALS: Final = 8
"""Times at which a stream must have arrived to be compared: fewer may be read at once by chance."""
MIN_SPAN_S: Final = 0.1
ALIKE: Final = 0.5
"""Least part of the time of the other stream that a stream takes: the first one may have filled a cache."""
AT_ONCE: Final = 0.1
"""Part of the time of the other stream within which nothing arrives bit by bit."""


@check("http.encoding-as-asked", on=RESPONSE, invalidates=("body",))
def body_has_no_other_coding(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A body has no content coding that the request does not accept."""
    sent = ",".join(value for name, value in exchange.request.headers if name.lower() == "accept-encoding")
    accepted = accepted_codings(sent) | {"", "identity"}
    found = exchange.header("content-encoding") or ""
    codings = {coding.strip().lower().removeprefix("x-") for coding in found.split(",")}
    if "*" not in accepted and not codings <= accepted:
        yield Finding("/headers/content-encoding", f"no header, or one of: {sent}", found)


@check("http.body-decodable", on=ANYTHING, invalidates=("response",))
def coded_body_can_be_decoded(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A body with a content coding that the request accepts can be decoded, to its end."""
    if exchange.header("content-encoding") is None:
        raise NotExercised("the body has no content coding")
    if exchange.failure is not None and exchange.failure.kind == "coding":
        yield Finding("/body", f"a body in the coding {exchange.header('content-encoding')}", exchange.failure.detail)


@relation("http.coded-as-plain", over=CODED_STEPS, unmet=why_unanswered)
def coded_answers_have_the_same_text(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request gives the same text, whether the request accepts gzip or deflate or neither.

    Reported if the texts differ from their beginning, or if one lacks its end although as many tokens are counted.
    Elsewhere rounding may be the cause of a difference.
    """
    plain = exchanges["plain"]
    text = plain.content() or ""
    if text != exchanges["plain-again"].content():
        raise NotExercised("greedy answers of this server do not repeat")
    for name in ("plain-gzip", "plain-deflate"):
        found = exchanges[name].content() or ""
        if found != text and (
            compare_answers(plain, exchanges[name]) == "clear" or _lacks_its_end(plain, exchanges[name])
        ):
            yield Finding(f"/{name}/choices/0/message/content", repr(text)[:200], repr(found)[:200])


def _lacks_its_end(whole: Exchange, other: Exchange) -> bool:
    """Return whether an answer is the beginning of another one with as many tokens."""
    first, second = ((exchange.usage or {}).get("completion_tokens") for exchange in (whole, other))
    return first is not None and first == second and (whole.content() or "").startswith(other.content() or "")


@relation("http.coded-stream-in-time", over=STREAMED_STEPS, unmet=why_unanswered)
def coded_stream_arrives_bit_by_bit(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A stream arrives bit by bit also if the request accepts gzip: compression does not hold it back.

    Reported if a stream without gzip takes its time, and two with gzip take at least half of it, but the text of
    both arrives all at once. Not judged if our own process stalled: the arrival times are then unknown.
    """
    yield from _held_back(exchanges, STREAMED_STEPS, "without gzip")


@relation("http.large-stream-in-time", over=LARGE_STEPS, unmet=why_unanswered)
def stream_of_a_large_request_arrives_bit_by_bit(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A stream arrives bit by bit also if the request is large and has a stop string.

    Reported if the stream of a small request takes its time, and those of two large ones take at least half of
    it, but the text of both arrives all at once. Not judged if our own process stalled: the arrival times are then
    unknown.
    """
    yield from _held_back(exchanges, LARGE_STEPS, "for a small request")


def _held_back(exchanges: Mapping[str, Exchange], steps: tuple[str, ...], otherwise: str) -> Iterator[Finding]:
    """Yield a finding if the text of the last two steps arrives at once, although that of the first one does not.

    A stream that spreads over its own time is not held back, however long the others take.
    """
    for exchange in exchanges.values():
        timed_response(exchange)
        if not exchange.is_stream:
            raise NotObserved("the answer is not a stream")
    usual, *both = (_arrivals(exchanges[name]) for name in steps)
    if any(map(_spreads, both)):
        return
    span_s = usual[-1] - usual[0] if usual else 0.0
    if len(set(usual)) < MIN_ARRIVALS or span_s < MIN_SPAN_S:
        raise NotExercised("the answer was too fast or too short to judge its timing")
    if any(len(coded) < MIN_ARRIVALS or coded[-1] < ALIKE * span_s for coded in both):
        raise NotExercised("the answers are not alike")
    if all(coded[-1] - coded[0] < AT_ONCE * span_s for coded in both):  # one burst may be the network's
        coded = both[0]
        within = f"{(coded[-1] - coded[0]) * 1000:.1f} ms, after {coded[0]:.2f} s"
        got = f"{format_quantity(len(coded), 'event')} within {within}"
        yield Finding(f"/{steps[1]}/events", f"events over about {span_s:.1f} s, as {otherwise}", got)


def _spreads(arrivals: list[float]) -> bool:
    """Return whether text arrived at several times, which are a fair part of the time since the request."""
    return len(set(arrivals)) >= MIN_ARRIVALS and arrivals[-1] - arrivals[0] >= AT_ONCE * arrivals[-1]


def _arrivals(exchange: Exchange) -> list[float]:
    """Return the times at which the events with text arrived."""
    return sorted(exchange.events[at].at_s for choice in exchange.choices.values() for at in choice.output_at)
