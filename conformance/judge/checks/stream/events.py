"""Checks of the order of events, of the end of a stream, of errors within it, and of its usage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, check
from conformance.judge.answer_fields import FINISH_REASONS
from conformance.judge.applicability import EXPECTED_STREAM, STREAM, STREAMED_ANSWER, summarize, summarize_with_type
from conformance.judge.evidence.context import require_short_enough
from conformance.judge.streams import choices, chunks, order_findings
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange


def _requests_usage(exchange: Exchange) -> bool:
    """Tell whether the request sets stream_options.include_usage."""
    sent: Any = exchange.request_json
    options = sent.get("stream_options") if isinstance(sent, dict) else None
    return isinstance(options, dict) and options.get("include_usage") is True


@check("stream.accepted", on=EXPECTED_STREAM, invalidates=("response",))
def stream_is_sent_when_asked_for(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request with `stream: true` is answered with a complete event stream, unless its prompt is longer than the
    server takes.
    """
    require_short_enough(exchange)
    if exchange.status != 200 or not exchange.complete:
        yield Finding("/status", "200 and a complete stream", summarize(exchange))
    elif not exchange.is_stream:
        yield Finding("/body", "an event stream", summarize_with_type(exchange))


@check("stream.done-last", on=STREAM)
def done_is_last(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The stream ends with the event `[DONE]`.

    A description cannot state this: it models one event, not the order of events.
    """
    yield from order_findings(exchange, "done-last")


@check("stream.done-once", on=STREAM)
def done_is_sent_once(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`[DONE]` is sent no more than once."""
    yield from order_findings(exchange, "done-once")


@check("stream.nothing-after-done", on=STREAM)
def nothing_follows_done(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No chunk follows `[DONE]`, where clients stop reading."""
    yield from order_findings(exchange, "nothing-after-done")


@check("stream.events-are-json", on=STREAM, invalidates=("assembled",))
def events_hold_json_objects(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The data of every event except `[DONE]` is one JSON object."""
    yield from order_findings(exchange, "events-are-json", "events-are-objects")


@check("stream.one-finish-per-choice", on=STREAM)
def choice_finishes_once(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every choice gets exactly one finish_reason that is not null."""
    yield from order_findings(exchange, "one-finish-per-choice")


@check("stream.nothing-after-finish", on=STREAM)
def choice_is_silent_after_its_finish(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A choice has no more text after its finish_reason."""
    yield from order_findings(exchange, "nothing-after-finish")


@check("stream.finish-reason-known", on=STREAM)
def streamed_reason_is_a_documented_one(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A finish_reason in a stream is stop, length, tool_calls, or null before the end.

    An empty string is not allowed; clients take it for the end.
    """
    for at, chunk in chunks(exchange):
        for choice in choices(chunk):
            found = choice.get("finish_reason")
            if found is not None and found not in FINISH_REASONS:
                where = f"/events/{at}/choices/{choice.get('index')}/finish_reason"
                yield Finding(where, f"{', '.join(FINISH_REASONS)} or null", repr(found))


@check("stream.no-error-event", on=STREAM, invalidates=("body",))
def stream_reports_no_error(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The stream of a valid request reports no error. One that may be refused may also be refused in its stream."""
    if context.step.expect == "either" and exchange.walk.errors and not exchange.choices:
        raise NotExercised("the stream refuses the request")
    for at, chunk in exchange.walk.errors:
        yield Finding(f"/events/{at}", "a chunk", repr(chunk)[:120])


@check("stream.errors-fit-envelope", on=STREAM)
def error_event_fits_the_envelope(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """An error in the middle of a stream has the dialect's error envelope, as a refusal does."""
    if not exchange.walk.errors:
        raise NotExercised("the stream reports no error")
    for at, chunk in exchange.walk.errors:
        for problem in context.validator.problems("ErrorEnvelope", chunk):
            yield Finding(f"/events/{at}{problem.where}", f"{problem.keyword} {problem.bound}", problem.message)


@check("stream.nothing-after-error", on=STREAM)
def error_event_is_the_last_word(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """After an error in the middle of a stream at most `[DONE]` follows."""
    if not exchange.walk.errors:
        raise NotExercised("the stream reports no error")
    failed = exchange.walk.errors[0][0]
    for at, chunk in exchange.walk.chunks:
        if at > failed and choices(chunk):
            yield Finding(f"/events/{at}", "nothing after the error", repr(chunk)[:80])
            return


@check("stream.usage-with-finish", on=STREAMED_ANSWER)
def usage_comes_with_the_finish_reason(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Usage is in the chunk that has the finish_reason."""
    finished = {
        at for at, chunk in chunks(exchange) for choice in choices(chunk) if choice.get("finish_reason") is not None
    }
    if not finished:
        raise NotExercised("no chunk has a finish_reason")
    with_usage = {at for at, _ in exchange.walk.usages}
    if not finished & with_usage:
        yield Finding("/events/*/usage", f"in event {sorted(finished)}", f"in events {sorted(with_usage)}")


@check("stream.usage-once", on=STREAMED_ANSWER)
def usage_is_sent_once_per_choice(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Usage is sent once for each choice, not with every chunk."""
    with_usage = [at for at, _ in exchange.walk.usages]
    if len(with_usage) > max(1, len(exchange.choices)):
        yield Finding(
            "/events/*/usage",
            format_quantity(max(1, len(exchange.choices)), "time"),
            format_quantity(len(with_usage), "time"),
        )


@check("stream.usage-on-request", on=STREAMED_ANSWER)
def usage_chunk_is_sent_when_asked_for(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With include_usage the last chunk before `[DONE]` has usage and an empty list of choices."""
    if not _requests_usage(exchange):
        raise NotExercised("the request does not ask for usage")
    at, last = chunks(exchange)[-1]
    if not isinstance(last.get("usage"), dict):
        yield Finding(f"/events/{at}/usage", "an object", repr(last.get("usage")))
    if last.get("choices") != []:
        yield Finding(f"/events/{at}/choices", "[]", repr(last.get("choices"))[:80])


@check("stream.usage-null-elsewhere", on=STREAMED_ANSWER)
def usage_is_null_in_all_other_chunks(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With include_usage every other chunk has `usage: null`."""
    if not _requests_usage(exchange):
        raise NotExercised("the request does not ask for usage")
    for at, chunk in chunks(exchange)[:-1]:
        if "usage" not in chunk or chunk["usage"] is not None:
            yield Finding(f"/events/{at}/usage", "null", repr(chunk.get("usage", "absent"))[:80])
            return


@check("stream.usage-after-choices", on=STREAM)
def usage_chunk_comes_after_the_choices(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A chunk with usage and no choices comes after every choice has finished."""
    yield from order_findings(exchange, "usage-after-finish")


@check("stream.usage-only-on-request", on=STREAMED_ANSWER)
def usage_is_not_sent_unasked(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Without include_usage no chunk has usage."""
    if _requests_usage(exchange):
        raise NotExercised("the request asks for usage")
    for at, usage in exchange.walk.usages:
        yield Finding(f"/events/{at}/usage", "no usage", repr(usage)[:80])
        return
