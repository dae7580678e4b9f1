"""TODO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotObserved, check, relation
from conformance.judge.acceptance import refused, why_not_refused
from conformance.judge.applicability import scenario, shown, unsuccessful

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


@check("errors.before-the-stream", on=scenario("refused-stream"))
def streamed_request_is_refused_before_the_stream(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A bad request with `stream: true` is refused with its status, before any event."""
    if exchange.status is None:
        raise NotObserved(shown(exchange))
    if not 400 <= exchange.status < 500 or exchange.is_stream:
        yield Finding("/status", "4xx and no events", shown(exchange))


@check("errors.malformed-json-refused", on=scenario("malformed-*"))
def malformed_json_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A body that is not JSON is refused as the client's fault."""
    if not refused(exchange):
        yield Finding("/status", "4xx", shown(exchange))


@check("errors.body-not-object-refused", on=scenario("not-an-object-*"))
def body_that_is_no_object_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A body that is JSON but no object is refused as the client's fault."""
    if not refused(exchange):
        yield Finding("/status", "4xx", shown(exchange))


@check("errors.unknown-model-refused", on=scenario("unknown-model*"))
def unknown_model_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request for a model that is not served is refused, not answered by another model."""
    if not refused(exchange):
        yield Finding("/model", "4xx", shown(exchange))


@check("errors.huge-integer-survived", on=scenario("huge-integer"))
def integer_of_many_digits_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An integer of 400 digits is refused as the client's fault: no overflow, no crash."""
    if not refused(exchange):
        yield Finding("/seed", "4xx", shown(exchange))


@check("errors.server-goes-on", on=scenario("goes-on-after-errors", "good"))
def good_request_is_answered_after_bad_ones(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """After bad requests the server answers a good one."""
    if lack := unsuccessful(exchange):
        yield Finding("/status", "200", lack)


@check("errors.lenient-json-refused", on=scenario("lenient-*"))
def text_that_is_almost_json_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A body that only lenient parsers read is refused: NaN, comments, single quotes, a comma too many.

    The next server behind the same address may read it otherwise or not at all.
    """
    if not refused(exchange):
        yield Finding("/status", "4xx", shown(exchange))


@check("errors.hostile-body-survived", on=scenario("hostile-*"))
def hostile_body_is_answered_or_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A body that is strange or hostile is answered or refused as the client's fault: no crash, no silence.

    Half characters, NUL, duplicate members, a byte order mark, thousands of levels, numbers beyond a double, many
    blanks, a type that is not JSON's.
    """
    if exchange.status is None or exchange.status >= 500 or not exchange.complete:
        yield Finding("/status", "an answer or 4xx", shown(exchange))


@relation("errors.streamed-as-plain", over=("refused-plain", "refused-streamed"), lacks=why_not_refused)
def streamed_request_gets_the_same_status(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same bad request gets the same status, whether it asks for a stream or not."""
    plain, streamed = (exchanges[name].status for name in ("refused-plain", "refused-streamed"))
    if plain != streamed:
        yield Finding("/status", f"{plain}, as for the plain request", f"{streamed}")


@relation("errors.refusal-repeats", over=("bad-again-1", "bad-again-2"), lacks=lambda _: None)
def bad_request_is_refused_again(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A bad request that is sent again is refused again with the same status: a refusal leaves nothing behind."""
    first, second = (exchanges[name] for name in ("bad-again-1", "bad-again-2"))
    if first.status is None:
        raise NotObserved(shown(first))
    if first.status != second.status:
        yield Finding("/status", f"{first.status}, as at first", shown(second))
