"""Mutants of which requests are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.responses import accept, refuse, with_body, with_header, with_json, with_status
from conformance.proof.mutants.mutant import mutant
from openapi.stream import sse

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("errors.before-the-stream")
def refusal_comes_in_the_stream(exchange: Exchange) -> Exchange:
    """An invalid request for a stream is answered with 200 and a stream that has no chunks."""
    stream = with_header(with_body(exchange, sse.encode(b"[DONE]")), "content-type", sse.MEDIA_TYPE)
    return with_status(stream, 200)


@mutant("errors.malformed-json-refused")
def malformed_json_breaks_the_server(exchange: Exchange) -> Exchange:
    """Malformed JSON gets a 500."""
    return refuse(exchange, 500)


@mutant("errors.body-not-object-refused")
def body_that_is_no_object_breaks_the_server(exchange: Exchange) -> Exchange:
    """A body that is not an object gets a 500."""
    return refuse(exchange, 500)


@mutant("errors.unknown-model-refused")
def another_model_answers(exchange: Exchange) -> Exchange:
    """A request for an unknown model is answered by another model."""
    return accept(exchange)


@mutant("errors.unknown-model-status")
def unknown_model_is_a_bad_request(exchange: Exchange) -> Exchange:
    """A model that the server does not have is refused like a wrong value."""
    return with_status(exchange, 400)


@mutant("errors.too-long-prompt-named")
def too_long_prompt_has_no_code(exchange: Exchange) -> Exchange:
    """A prompt that is too long is refused without a code."""
    return with_json(exchange, {"error": {"message": "too long", "type": "invalid_request_error", "code": None}})


@mutant("errors.model-case-matters")
def case_of_the_model_does_not_matter(exchange: Exchange) -> Exchange:
    """A model in another case is answered."""
    return accept(exchange)


@mutant("errors.huge-integer-survived")
def huge_integer_breaks_the_server(exchange: Exchange) -> Exchange:
    """An integer of 400 digits gets a 500."""
    return refuse(exchange, 500)


@mutant("errors.server-goes-on")
def bad_requests_break_the_server(exchange: Exchange) -> Exchange:
    """A valid request after invalid ones gets a 500."""
    return refuse(exchange, 500)


@mutant("errors.lenient-json-refused")
def almost_json_is_read(exchange: Exchange) -> Exchange:
    """A body that is almost JSON is answered."""
    return accept(exchange)


@mutant("errors.hostile-body-survived")
def hostile_body_breaks_the_server(exchange: Exchange) -> Exchange:
    """A hostile body gets a 500."""
    return refuse(exchange, 500)


@mutant("errors.streamed-as-plain", steps="refused-streamed")
def streamed_request_is_refused_otherwise(exchange: Exchange) -> Exchange:
    """An invalid request for a stream is refused with another status."""
    return with_status(exchange, 418)


@mutant("errors.refusal-repeats", steps="bad-again-2")
def second_refusal_breaks(exchange: Exchange) -> Exchange:
    """An invalid request that is sent again gets a 500."""
    return with_body(refuse(exchange, 500), b"")
