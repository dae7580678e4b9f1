"""Refusals, broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.mutants.editing import (
    accept,
    edit_answer,
    refuse,
    with_body,
    with_header,
    with_json,
    with_status,
)
from conformance.proof.mutants.mutant import mutant
from openapi.stream import sse

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("errors.client-fault-is-4xx")
def client_fault_is_a_500(exchange: Exchange) -> Exchange:
    """A bad request ends in a 500."""
    return with_status(exchange, 500)


@mutant("errors.status-as-documented")
def status_is_a_teapot(exchange: Exchange) -> Exchange:
    """A bad request is refused with a status that the dialect does not use."""
    return with_status(exchange, 418)


@mutant("errors.body-is-json-object")
def body_is_a_bare_text(exchange: Exchange) -> Exchange:
    """The body of a refusal is a JSON text, no object."""
    return with_body(exchange, b'"the request is refused"')


@mutant("errors.envelope-fits")
def envelope_is_a_framework_s(exchange: Exchange) -> Exchange:
    """A refusal comes in the envelope of a web framework."""
    return with_json(exchange, {"detail": exchange.json})


@mutant("errors.json-content-type")
def refusal_is_sent_as_text(exchange: Exchange) -> Exchange:
    """A refusal is sent as text/plain."""
    return with_header(exchange, "content-type", "text/plain")


@mutant("errors.names-the-parameter")
def refusal_names_nothing(exchange: Exchange) -> Exchange:
    """The refusal of a bad value says only that something is wrong."""
    return edit_answer(exchange, lambda body: body.update(_hushed(body)))


def _hushed(value: Any) -> Any:
    """The value with other texts, those of inner objects too."""
    if isinstance(value, dict):
        return {name: _hushed(item) for name, item in value.items()}
    return "something is wrong" if isinstance(value, str) else value


@mutant("errors.no-traceback")
def refusal_shows_a_traceback(exchange: Exchange) -> Exchange:
    """A refusal ends with a line of a traceback."""
    return edit_answer(exchange, lambda body: body.update(_traced(body)))


def _traced(value: Any) -> Any:
    """The value with a trace in its texts, those of inner objects too."""
    if isinstance(value, dict):
        return {name: _traced(item) for name, item in value.items()}
    return f'{value}\n  File "server.py", line 7, in handle' if isinstance(value, str) else value


@mutant("errors.before-the-stream")
def refusal_comes_in_the_stream(exchange: Exchange) -> Exchange:
    """A bad request for a stream is answered with 200 and the error comes as an event."""
    stream = with_header(with_body(exchange, sse.encode(exchange.body)), "content-type", sse.MEDIA_TYPE)
    return with_status(stream, 200)


@mutant("errors.malformed-json-refused")
def malformed_json_breaks_the_server(exchange: Exchange) -> Exchange:
    """Malformed JSON ends in a 500."""
    return refuse(exchange, 500)


@mutant("errors.body-not-object-refused")
def body_that_is_no_object_breaks_the_server(exchange: Exchange) -> Exchange:
    """A body that is no object ends in a 500."""
    return refuse(exchange, 500)


@mutant("errors.unknown-model-refused")
def another_model_answers(exchange: Exchange) -> Exchange:
    """A request for an unknown model is answered by another one."""
    return accept(exchange)


@mutant("errors.huge-integer-survived")
def huge_integer_breaks_the_server(exchange: Exchange) -> Exchange:
    """An integer of 400 digits ends in a 500."""
    return refuse(exchange, 500)


@mutant("errors.server-goes-on")
def bad_requests_break_the_server(exchange: Exchange) -> Exchange:
    """After bad requests a good one ends in a 500."""
    return refuse(exchange, 500)
