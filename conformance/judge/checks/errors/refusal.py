"""Checks of which requests are refused, and that the server keeps working afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, NotObserved, check, relation
from conformance.judge.acceptance import REFUSED, is_refused, require_error_status, why_not_refused_somehow
from conformance.judge.applicability import in_scenario, summarize, why_unanswered
from conformance.judge.error_envelope import envelope_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

CONTENT_TOO_LARGE = 413
MOST_NAMED = 6
"""How many requests a finding names that a server may not have survived."""


@check("errors.before-the-stream", on=in_scenario("refused-stream"))
def streamed_request_is_refused_before_the_stream(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """An invalid request with `stream: true` is refused with a 4xx status, before any event.

    Some documents allow an error in place of the answer, with status 200.
    """
    if exchange.status is None:
        raise NotObserved(summarize(exchange))
    if exchange.status < 300 and is_refused(exchange, context.contract):
        return
    if not 400 <= exchange.status < 500 or exchange.is_stream:
        yield Finding("/status", "4xx and no events", summarize(exchange))


@check("errors.malformed-json-refused", on=in_scenario("malformed-*"))
def malformed_json_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A body that is not JSON is refused as a client error."""
    if not is_refused(exchange, context.contract):
        yield Finding("/status", REFUSED, summarize(exchange))


@check("errors.body-not-object-refused", on=in_scenario("not-an-object-*"))
def body_that_is_no_object_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A body that is JSON but not an object is refused as a client error."""
    if not is_refused(exchange, context.contract):
        yield Finding("/status", REFUSED, summarize(exchange))


@check("errors.unknown-model-refused", on=in_scenario("unknown-model*", "[!k]*"))
def unknown_model_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A request for a model that the server does not have is refused, not answered by another model."""
    if not is_refused(exchange, context.contract):
        yield Finding("/model", REFUSED, summarize(exchange))


@check("errors.unknown-model-status", on=in_scenario("unknown-model*", "[!k]*", refused=True))
def unknown_model_has_its_own_status(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The refusal of a model that the server does not have has the status for it, so that clients look for the name of
    the model and not for a mistake in their request.
    """
    expected = context.contract.errors.kinds["unknown_model"].status
    if exchange.status is not None and exchange.status < 500 and exchange.status != expected:
        yield Finding("/status", f"{expected}", summarize(exchange))


@check("errors.too-long-prompt-named", on=in_scenario("prompt-beyond-the-context", refused=True))
def too_long_prompt_has_its_own_code(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The refusal of a prompt that is longer than the context has the code for it: clients then send a shorter one."""
    expected = context.contract.errors.kinds["prompt_too_long"].code
    if exchange.status == CONTENT_TOO_LARGE:
        raise NotExercised("the whole request is too large for the server")
    found = envelope_of(exchange).field("code")
    if exchange.status is not None and exchange.status < 500 and found != expected:
        yield Finding("/error/code", repr(expected), repr(found))


@check("errors.model-case-matters", on=in_scenario("model-in-other-case"))
def model_in_the_other_case_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A model whose name differs from the right one in upper and lower case is refused like any unknown model."""
    sent = exchange.request_json
    if not isinstance(sent, dict) or sent.get("model") == context.model:
        raise NotExercised("the name of the model has no letters")
    if not is_refused(exchange, context.contract):
        yield Finding("/model", REFUSED, summarize(exchange))


@check("errors.huge-integer-survived", on=in_scenario("huge-integer"))
def integer_of_many_digits_is_survived(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """An integer of 400 digits is refused as a client error if the document limits it: no overflow, no crash.

    Without a documented limit an answer is as good as a refusal.
    """
    seed = context.contract.parameters.get("seed")
    if seed is not None and not {"maximum", "exclusiveMaximum"} & set(seed.schema):
        yield from _must_survive(exchange)
    elif not is_refused(exchange, context.contract):
        yield Finding("/seed", REFUSED, summarize(exchange))


@check("errors.server-goes-on", on=in_scenario("goes-on-after-errors", "good"))
def good_request_is_answered_after_bad_ones(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A valid request is answered after refused and failed ones.

    A run also sends one after a failed request, and after several refusals. If it is not answered, the finding names
    the requests that the server may not have survived.
    """
    if reason := why_unanswered(exchange):
        others = f" and {len(context.lost) - MOST_NAMED} more" if len(context.lost) > MOST_NAMED else ""
        names = ", ".join(context.lost[:MOST_NAMED])
        yield Finding("/status", "200", f"{reason} after {names}{others}" if names else reason)


@check("errors.lenient-json-refused", on=in_scenario("lenient-*"))
def text_that_is_almost_json_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A body that only lenient parsers accept is refused: NaN, comments, single quotes, a trailing comma.

    The next server behind the same address may read it differently or not at all.
    """
    if not is_refused(exchange, context.contract):
        yield Finding("/status", REFUSED, summarize(exchange))


@check("errors.hostile-body-survived", on=in_scenario("hostile-*"))
def hostile_body_is_answered_or_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An unusual or hostile body is answered, or refused as a client error: no crash, no missing response.

    Unpaired surrogates, NUL, duplicate fields, a byte order mark, thousands of levels, numbers beyond a double, many
    spaces, a media type that is not JSON.
    """
    yield from _must_survive(exchange)


def _must_survive(exchange: Exchange) -> Iterator[Finding]:
    """Yield a finding for a status of 5xx and for a broken connection."""
    if exchange.status is None or exchange.status >= 500 or not exchange.complete:
        yield Finding("/status", "an answer or 4xx", summarize(exchange))


@relation("errors.streamed-as-plain", over=("refused-plain", "refused-streamed"), unmet=why_not_refused_somehow)
def streamed_request_gets_the_same_status(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """The same invalid request gets the same status, whether it asks for a stream or not."""
    for exchange in exchanges.values():
        require_error_status(exchange, context.contract)
    plain, streamed = (exchanges[name].status for name in ("refused-plain", "refused-streamed"))
    if plain != streamed:
        yield Finding("/status", f"{plain}, as for the plain request", f"{streamed}")


@relation("errors.refusal-repeats", over=("bad-again-1", "bad-again-2"))
def bad_request_is_refused_again(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An invalid request that is sent again is refused again with the same status: a refusal has no lasting effect."""
    first, second = (exchanges[name] for name in ("bad-again-1", "bad-again-2"))
    if first.status is None:
        raise NotObserved(summarize(first))
    if first.status != second.status:
        yield Finding("/status", f"{first.status}, as the first time", summarize(second))
