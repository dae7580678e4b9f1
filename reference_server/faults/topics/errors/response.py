"""Faults in the body and headers of error responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import fault, requires_check

if TYPE_CHECKING:
    from reference_server.faults.hooks import ResponseHead, ServedRequest

BAD = range(400, 500)
TRACE = 'Traceback (most recent call last):\n  File "/srv/app.py", line 7, in chat\nValueError: bad value'


@fault("status-418", "refusal", bugs=[114], applies_to=requires_check("errors.status-as-documented"))
def status_is_another(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """Invalid requests get a status that no document mentions."""
    if head.status in BAD:
        head.status = 418
    return body


@fault("status-200", "refusal", bugs=[118])
def status_is_200(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """Refusals have status 200."""
    head.status = 200
    return body


@fault("refusals-are-text", "refusal", bugs=[133])
def refusals_are_text(_head: ResponseHead, _body: Any, _request: ServedRequest) -> Any:
    """Refusals are a plain string with the content type of JSON."""
    return b"Bad Request"


@fault("refusals-are-pages", "refusal")
def refusals_are_pages(head: ResponseHead, _body: Any, _request: ServedRequest) -> Any:
    """Refusals are an HTML page."""
    head.headers["content-type"] = "text/html"
    return b"<html><body>Bad Request</body></html>"


@fault("refusals-typed-as-text", "refusal")
def refusals_typed_as_text(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """Refusals are sent as text/plain."""
    head.headers["content-type"] = "text/plain"
    return body


@fault("refusals-of-another-api", "refusal", bugs=[111, 112])
def refusals_of_another_api(_head: ResponseHead, _body: Any, _request: ServedRequest) -> Any:
    """Refusals have the envelope of a web framework: a list named `detail`."""
    return {"detail": [{"loc": ["body"], "msg": "bad value", "type": "value_error"}]}


@fault("refusals-empty", "refusal", bugs=[111])
def refusals_are_empty(_head: ResponseHead, _body: Any, _request: ServedRequest) -> Any:
    """Refusals are an empty object."""
    return {}


@fault("refusals-are-lists", "refusal")
def refusals_are_lists(_head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """Refusals are wrapped in a list."""
    return [body]


@fault("refusals-say-nothing", "refusal")
def refusals_say_nothing(_head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """Refusals do not name the invalid parameter."""
    return _said(body, "bad request")


@fault("refusals-show-traces", "refusal")
def refusals_show_traces(_head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """Refusals contain a traceback of the server."""
    return _said(body, TRACE)


def _said(body: Any, message: str) -> Any:
    """Replace the message of a refusal, wherever the envelope has it."""
    if isinstance(body, dict):
        return {
            name: message
            if name == "message" or (name == "error" and isinstance(value, str))
            else _said(value, message)
            for name, value in body.items()
        }
    return body


@fault("refusals-of-no-api", "refusal", bugs=[111])
def refusals_of_no_api(_head: ResponseHead, _body: Any, _request: ServedRequest) -> Any:
    """Refusals are an object with fields that no client knows."""
    return {"oops": True, "why": 7}


@fault("refusals-without-words", "refusal")
def refusals_without_words(_head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """The message of a refusal is empty."""
    return _said(body, "")


@fault("refusals-repeat-requests", "refusal")
def refusals_repeat_requests(_head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """A refusal contains the request many times."""
    return _said(body, f"max_tokens: {request.body.decode(errors='replace')[:4000]}" * 64)


@fault("refusals-of-another-status", "refusal", applies_to=requires_check("errors.code-is-status"))
def refusals_of_another_status(_head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """The code in the envelope does not match the status."""
    if isinstance(body, dict):
        response = body["error"] if isinstance(body.get("error"), dict) else body
        response["code"] = 500
    return body


@fault("refusals-called-internal", "refusal", applies_to=requires_check("errors.type-of-clients-fault"))
def refusals_called_internal(_head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """The type of a refusal is that of an internal error."""
    if isinstance(body, dict):
        response, name = (body["error"], "type") if isinstance(body.get("error"), dict) else (body, "error_type")
        response[name] = "internal_server_error"
    return body


@fault("param-is-another", "refusal", applies_to=requires_check("errors.param-is-the-parameter"))
def param_is_another(_head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """`param` names a parameter that is valid."""
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body["error"]["param"] = "user"
    return body
