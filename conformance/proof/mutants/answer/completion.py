"""Mutants of a plain answer as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_answer, edit_choice, edit_either
from conformance.proof.editing.responses import refuse, with_body, with_header, with_json
from conformance.proof.mutants.mutant import mutant
from openapi.stream import sse

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("answer.accepted")
def valid_request_is_refused(exchange: Exchange) -> Exchange:
    """A valid request is refused with 422."""
    return refuse(exchange, 422)


@mutant("answer.no-error-inside")
def error_comes_with_success(exchange: Exchange) -> Exchange:
    """An error is sent with status 200."""
    return with_json(exchange, {"error": "the model failed"})


@mutant("answer.json-content-type")
def answer_is_sent_as_text(exchange: Exchange) -> Exchange:
    """A plain answer is sent as text/plain."""
    return with_header(exchange, "content-type", "text/plain")


@mutant("answer.fits-schema")
def message_is_a_string(exchange: Exchange) -> Exchange:
    """`message` of a choice is a string instead of an object."""
    return edit_choice(exchange, lambda choice: choice.update(message="Hello!"))


@mutant("answer.object-named")
def object_is_of_the_older_api(exchange: Exchange) -> Exchange:
    """`object` is "text_completion", the name of the older API."""
    return edit_answer(exchange, lambda answer: answer.update(object="text_completion"))


@mutant("answer.id-given")
def id_is_empty(exchange: Exchange) -> Exchange:
    """`id` is an empty string."""
    return edit_answer(exchange, lambda answer: answer.update(id=""))


@mutant("answer.created-now")
def created_is_in_milliseconds(exchange: Exchange) -> Exchange:
    """`created` is in milliseconds."""
    return edit_answer(exchange, lambda answer: answer.update(created=answer["created"] * 1000))


@mutant("answer.model-echoed")
def model_is_another(exchange: Exchange) -> Exchange:
    """The answer names another model than the request."""
    return edit_answer(exchange, lambda answer: answer.update(model="another-model"))


@mutant("answer.usage-present")
def usage_is_absent(exchange: Exchange) -> Exchange:
    """A plain answer has no usage."""
    return edit_answer(exchange, lambda answer: answer.pop("usage"))


@mutant("answer.timings-non-negative")
def prefill_time_is_negative(exchange: Exchange) -> Exchange:
    """`prefill_time` is negative."""
    return edit_answer(exchange, lambda answer: answer.update(prefill_time=-1))


@mutant("answer.utf8")
def answer_starts_with_a_mark(exchange: Exchange) -> Exchange:
    """The answer begins with a byte order mark."""
    return with_body(exchange, b"\xef\xbb\xbf" + exchange.body)


@mutant("answer.json-unambiguous")
def field_is_repeated(exchange: Exchange) -> Exchange:
    """The answer has the field `object` twice."""
    return with_body(exchange, exchange.body.rstrip()[:-1] + b',"object":"chat.completion.chunk"}')


@mutant("answer.plain-unless-asked")
def answer_comes_as_an_event(exchange: Exchange) -> Exchange:
    """A request without `stream` is answered with a stream."""
    return with_header(with_body(exchange, sse.encode(exchange.body)), "content-type", sse.MEDIA_TYPE)


@mutant("answer.members-known")
def answer_has_a_further_field(exchange: Exchange) -> Exchange:
    """The answer has a field that no document defines."""
    return edit_answer(exchange, lambda answer: answer.update(x_note="extra"))


@mutant("answer.ids-differ", scenario="greedy", steps="*")
def answers_share_an_id(exchange: Exchange) -> Exchange:
    """Several answers have the same id."""
    return edit_either(exchange, lambda answer: answer.update(id="chatcmpl-1"))
