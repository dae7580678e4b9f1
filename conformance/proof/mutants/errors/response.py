"""Mutants of the status, the envelope and the message of error responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_answer
from conformance.proof.editing.responses import with_body, with_header, with_json, with_status
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("errors.client-fault-is-4xx")
def client_fault_is_a_500(exchange: Exchange) -> Exchange:
    """An invalid request gets a 500."""
    return with_status(exchange, 500)


@mutant("errors.status-as-documented")
def status_is_a_teapot(exchange: Exchange) -> Exchange:
    """An invalid request is refused with a status that the dialect does not use."""
    return with_status(exchange, 418)


@mutant("errors.body-is-json-object")
def body_is_a_bare_text(exchange: Exchange) -> Exchange:
    """The body of a refusal is a JSON string instead of an object."""
    return with_body(exchange, b'"the request is refused"')


@mutant("errors.envelope-fits")
def envelope_is_a_framework_s(exchange: Exchange) -> Exchange:
    """A refusal has the envelope of a web framework."""
    return with_json(exchange, {"detail": exchange.json})


@mutant("errors.json-content-type")
def refusal_is_sent_as_text(exchange: Exchange) -> Exchange:
    """A refusal is sent as text/plain."""
    return with_header(exchange, "content-type", "text/plain")


@mutant("errors.names-the-parameter")
def refusal_names_nothing(exchange: Exchange) -> Exchange:
    """The refusal of an invalid value says only that something is wrong."""
    return edit_answer(exchange, lambda body: body.update(_replace_strings(body)))


def _replace_strings(value: Any) -> Any:
    """Replace all strings of a value."""
    if isinstance(value, dict):
        return {name: _replace_strings(item) for name, item in value.items()}
    return "something is wrong" if isinstance(value, str) else value


@mutant("errors.type-of-clients-fault")
def type_blames_the_server(exchange: Exchange) -> Exchange:
    """The type of a refusal says that the server failed."""

    def edit(body: dict[str, Any]) -> None:
        inner = body.get("error")
        (inner if isinstance(inner, dict) else body)["type"] = "server_error"

    return edit_answer(exchange, edit)


@mutant("errors.no-traceback")
def refusal_shows_a_traceback(exchange: Exchange) -> Exchange:
    """A refusal contains a line of a traceback."""
    return edit_answer(exchange, lambda body: body.update(_add_traceback(body)))


def _add_traceback(value: Any) -> Any:
    """Add a line of a traceback to all strings of a value."""
    if isinstance(value, dict):
        return {name: _add_traceback(item) for name, item in value.items()}
    return f'{value}\n  File "server.py", line 7, in handle' if isinstance(value, str) else value


@mutant("errors.envelope-known")
def envelope_is_of_its_own_kind(exchange: Exchange) -> Exchange:
    """A refusal is an object with fields that no client reads."""
    return with_json(exchange, {"ok": False, "reason": "the request is refused"})


@mutant("errors.message-given")
def message_is_empty(exchange: Exchange) -> Exchange:
    """The message of a refusal is empty."""
    return with_json(exchange, {"error": "", "error_type": "Input Validation Error"})


@mutant("errors.code-is-status")
def code_is_another_status(exchange: Exchange) -> Exchange:
    """The envelope has the code of a different status."""
    return with_json(exchange, {"error": {"message": "the request is refused", "type": None, "code": 599}})


@mutant("errors.code-of-its-kind")
def value_is_refused_with_the_code_of_a_key(exchange: Exchange) -> Exchange:
    """The refusal of a value has the code of a wrong key, in the envelopes of all dialects."""
    return with_json(exchange, {"code": 801, "result": None, "message": "a value is refused", "type": "error"})


@mutant("errors.param-is-the-parameter")
def param_is_another_parameter(exchange: Exchange) -> Exchange:
    """`param` names a parameter whose value was valid."""
    error = {"message": "a value is refused", "type": "invalid_request_error", "param": "user_name", "code": None}
    return with_json(exchange, {"error": error})


@mutant("errors.refusal-is-short")
def refusal_sends_the_request_back(exchange: Exchange) -> Exchange:
    """A refusal repeats the request many times."""
    return with_json(exchange, {"error": "no: " + "x" * 100_000})


@mutant("errors.envelopes-alike", steps="bad-json")
def one_refusal_is_the_framework_s(exchange: Exchange) -> Exchange:
    """The web framework refuses a malformed body in its own form."""
    return with_json(exchange, {"detail": [{"msg": "JSON decode error"}]})
