"""Checks of a plain answer as a whole: status, media type, encoding and top-level fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, NotObserved, check
from conformance.judge.acceptance import is_refused
from conformance.judge.answer_fields import answer_object, check_created, names_model, read_id, requested_model
from conformance.judge.applicability import (
    ANSWER,
    EXPECTED_ANSWER,
    PLAIN_ANSWER,
    POSSIBLE_ANSWER,
    summarize,
    summarize_with_type,
)
from conformance.judge.evidence.context import require_short_enough
from conformance.judge.evidence.run_answers import require_answers
from conformance.judge.schema_fields import unknown_fields
from openapi.stream.event_order import reports_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange


@check("answer.accepted", on=EXPECTED_ANSWER, invalidates=("response",))
def valid_request_is_answered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A valid request is answered with status 200, unless its prompt is longer than the server takes."""
    require_short_enough(exchange)
    if exchange.status != 200 or not exchange.complete:
        yield Finding("/status", "200 and a complete body", summarize(exchange))


@check("answer.no-error-inside", on=POSSIBLE_ANSWER, invalidates=("response",))
def success_holds_no_error(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """An answer with status 200 does not report an error in its body, also if the request may be refused.

    Clients that trust the status would count the request as successful.
    """
    if context.step.expect == "either" and (exchange.status != 200 or is_refused(exchange, context.contract)):
        raise NotExercised("the request is refused, as it may be")
    if exchange.status != 200:
        raise NotObserved(f"the status is {exchange.status}")
    if not exchange.is_stream and reports_error(exchange.json):
        yield Finding("/body", "an answer", summarize(exchange))


@check("answer.json-content-type", on=PLAIN_ANSWER)
def content_type_is_json(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A plain answer is sent as application/json."""
    if exchange.content_type != "application/json":
        yield Finding("/headers/content-type", "application/json", exchange.header("content-type") or "no header")


@check("answer.fits-schema", on=PLAIN_ANSWER, invalidates=("body", "type", "field"))
def answer_fits_the_description(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A plain answer is valid against the description of the dialect."""
    if exchange.json_error:
        yield Finding("/body", "JSON", exchange.json_error)
        return
    for problem in context.validator.problems("ChatCompletion", exchange.json):
        yield Finding(problem.where or "/", f"{problem.keyword} {problem.bound}", problem.message)


@check("answer.utf8", on=PLAIN_ANSWER, invalidates=("body",))
def answer_is_utf8(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A plain answer is UTF-8 throughout and does not begin with a byte order mark."""
    if exchange.body.startswith(b"\xef\xbb\xbf"):
        yield Finding("/body", "no byte order mark", "EF BB BF")
    if exchange.json_error.startswith("not UTF-8"):
        yield Finding("/body", "UTF-8", exchange.json_error)


@check("answer.json-unambiguous", on=PLAIN_ANSWER)
def answer_names_each_member_once(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No object of an answer repeats a field name, and no string has an unpaired surrogate: parsers
    disagree on both.
    """
    for oddity in exchange.json_oddities:
        yield Finding("/body", "unambiguous JSON", oddity)


@check("answer.plain-unless-asked", on=EXPECTED_ANSWER, invalidates=("response",))
def answer_is_not_streamed_unasked(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A request without `stream: true` is answered with plain JSON."""
    if context.step.streams:
        raise NotExercised("the request asks for a stream")
    if exchange.status != 200:
        raise NotObserved(f"the status is {exchange.status}")
    if exchange.is_stream:
        yield Finding("/body", "one JSON object", summarize_with_type(exchange))


@check("answer.members-known", on=PLAIN_ANSWER)
def answer_has_no_further_members(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """An answer has the fields that the description defines and no others."""
    if names := unknown_fields(context.validator.outline("ChatCompletion"), exchange.json):
        yield Finding("/", "fields of the description", ", ".join(names))


@check("answer.object-named", on=PLAIN_ANSWER)
def object_is_chat_completion(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`object` of a plain answer is "chat.completion"."""
    found = answer_object(exchange).get("object")
    if found != "chat.completion":
        yield Finding("/object", "chat.completion", repr(found))


@check("answer.id-given", on=PLAIN_ANSWER)
def id_is_a_text(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`id` of a plain answer is a string and not empty."""
    found = answer_object(exchange).get("id")
    if not isinstance(found, str) or not found:
        yield Finding("/id", "a string that is not empty", repr(found))


@check("answer.ids-differ", on=ANSWER)
def id_is_that_of_no_other_answer(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """No other answer of the run has the id of an answer, plain or streamed, unless the client names its requests."""
    identity = read_id(exchange)
    if identity is None:
        raise NotExercised("the answer has no id")
    if (other := require_answers(context).repeated_ids.get(exchange.id)) is not None:
        yield Finding("/id", f"another id than that of {other}", repr(identity))


@check("answer.created-now", on=PLAIN_ANSWER)
def created_is_the_time_of_the_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`created` is the Unix time of the answer in seconds.

    Milliseconds and a constant are the usual mistakes. An hour of difference is allowed, because clocks are wrong.
    """
    yield from check_created("/created", answer_object(exchange).get("created"), exchange)


@check("answer.model-echoed", on=PLAIN_ANSWER)
def model_is_the_requested_one(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """`model` of the answer is the model of the request, or a dated version of it.

    A request for `gpt-3.5-turbo` may be answered by `gpt-3.5-turbo-0613`, as a document prints it.
    """
    requested = requested_model(exchange, context)
    found = answer_object(exchange).get("model")
    if not names_model(found, requested):
        yield Finding("/model", repr(requested), repr(found))


@check("answer.usage-present", on=PLAIN_ANSWER, invalidates=("field",))
def usage_is_given(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A plain answer reports its token counts in `usage`."""
    found = answer_object(exchange).get("usage")
    if not isinstance(found, dict):
        yield Finding("/usage", "an object", repr(found))


@check("answer.timings-non-negative", on=PLAIN_ANSWER)
def timings_are_not_negative(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Measured times and batch sizes, if present, are numbers that are not negative."""
    answer = answer_object(exchange)
    usage = answer.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    for holder, place, name, many in (
        (answer, "", "prefill_time", False),
        (answer, "", "decode_time_arr", True),
        (usage, "/usage", "batch_size", True),
        (usage, "/usage", "queue_wait_time", True),
    ):
        if name not in holder or holder[name] is None:
            continue
        values = holder[name] if many else [holder[name]]
        if not isinstance(values, list) or not all(_is_measure(value) for value in values):
            yield Finding(f"{place}/{name}", "numbers that are not negative", repr(holder[name])[:80])


def _is_measure(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
