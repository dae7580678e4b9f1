"""Refusals, broken: their envelopes, and what stands in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.mutants.editing import accept, refuse, with_body, with_json, with_status
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("errors.envelope-known")
def envelope_is_of_its_own_kind(exchange: Exchange) -> Exchange:
    """A refusal is an object with members that no client knows."""
    return with_json(exchange, {"ok": False, "reason": "the request is refused"})


@mutant("errors.message-given")
def message_is_empty(exchange: Exchange) -> Exchange:
    """The message of a refusal is empty."""
    return with_json(exchange, {"error": "", "error_type": "Input Validation Error"})


@mutant("errors.code-is-status")
def code_is_another_status(exchange: Exchange) -> Exchange:
    """The envelope has the code of another status."""
    return with_json(exchange, {"error": {"message": "the request is refused", "type": None, "code": 599}})


@mutant("errors.param-is-the-parameter")
def param_is_another_parameter(exchange: Exchange) -> Exchange:
    """`param` names a parameter that was not wrong."""
    error = {"message": "a value is refused", "type": "invalid_request_error", "param": "user_name", "code": None}
    return with_json(exchange, {"error": error})


@mutant("errors.refusal-is-short")
def refusal_sends_the_request_back(exchange: Exchange) -> Exchange:
    """A refusal repeats the request many times."""
    return with_json(exchange, {"error": "no: " + "x" * 100_000})


@mutant("errors.lenient-json-refused")
def almost_json_is_read(exchange: Exchange) -> Exchange:
    """A body that is almost JSON is answered."""
    return accept(exchange)


@mutant("errors.hostile-body-survived")
def hostile_body_breaks_the_server(exchange: Exchange) -> Exchange:
    """A hostile body ends in a 500."""
    return refuse(exchange, 500)


@mutant("errors.streamed-as-plain", steps="refused-streamed")
def streamed_request_is_refused_otherwise(exchange: Exchange) -> Exchange:
    """A bad request for a stream is refused with another status."""
    return with_status(exchange, 418)


@mutant("errors.envelopes-alike", steps="bad-json")
def one_refusal_is_the_framework_s(exchange: Exchange) -> Exchange:
    """The framework refuses a malformed body in its own form."""
    return with_json(exchange, {"detail": [{"msg": "JSON decode error"}]})


@mutant("errors.refusal-repeats", steps="bad-again-2")
def second_refusal_breaks(exchange: Exchange) -> Exchange:
    """The second time a bad request ends in a 500."""
    return with_body(refuse(exchange, 500), b"")
