"""Checks of error responses: status, media type, envelope and message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from conformance.check import Applicability, Context, Finding, NotExercised, NotObserved, check, relation
from conformance.judge.acceptance import (
    REFUSED_SOMEHOW,
    is_refused,
    key_error_codes,
    require_error_status,
    why_not_refused_somehow,
)
from conformance.judge.applicability import REFUSAL, REFUSAL_OF_VALUE, summarize
from conformance.judge.error_envelope import envelope_of, names_any, texts_within
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

TRACES = re.compile(  # of Python, the Java virtual machine, JavaScript, Go and Rust
    r'Traceback \(most recent call last\)|File "[^"]+", line \d+|\bat [\w.$<>]+ ?\([^()\s]+:\d+(?::\d+)?\)'
    r"|\bgoroutine \d+ \[\w+\]:|\bpanicked at \S+:\d+:\d+"
)

IS_JSON = re.compile(r"application/(?:[^/]+\+)?json")  # "+json" by RFC 6839; problem details by RFC 9457
LARGE_REQUEST = 65_536  # bytes; a server may refuse a larger request with 413
SERVERS_FAULT = re.compile(r"server|internal", re.IGNORECASE)
MAX_REFUSAL = 16_384  # bytes; a longer refusal repeats the request
HTTP_CODES = range(100, 600)


def _statuses_of_http(exchange: Exchange) -> set[int]:
    """Return the statuses that HTTP itself defines for unusual properties of this request."""
    headers = {name.lower(): value for name, value in exchange.request.headers}
    statuses = {413} if len(exchange.request.body) > LARGE_REQUEST else set()
    if headers.get("content-type", "").lower() != "application/json" or "content-encoding" in headers:
        statuses.add(415)
    expected = {"accept": 406, "transfer-encoding": 411, "expect": 417}
    return statuses | {status for name, status in expected.items() if headers.get(name, "*/*") != "*/*"}


def _require_documented(exchange: Exchange) -> None:
    """Raise NotExercised for a refusal by HTTP itself, such as 415: no document states what its body is."""
    if exchange.status in _statuses_of_http(exchange):
        raise NotExercised(f"no document states the body of a {exchange.status}")


@check("errors.client-fault-is-4xx", on=REFUSED_SOMEHOW, invalidates=("response",))
def clients_fault_is_not_the_servers(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """An invalid request is refused with 4xx, never with 5xx, and with 2xx only in the form that a document allows.

    A 5xx makes clients retry and operators look for a defect that the server does not have. Clients that trust a 2xx
    count the request as successful.
    """
    status = exchange.status or 0
    if status >= 500 or (status < 400 and not is_refused(exchange, context.contract)):
        yield Finding("/status", "4xx", summarize(exchange))


@check("errors.status-as-documented", on=REFUSAL)
def status_is_the_dialects(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """An invalid request is refused with a status that the dialect's servers use."""
    kinds = context.contract.errors.kinds
    known = {kinds[name].status for name in ("invalid_json", "invalid_request", "unknown_model", "unauthorized")}
    if context.contract.auth == "none":
        known.discard(kinds["unauthorized"].status)
    known |= _statuses_of_http(exchange)
    if exchange.status not in known and exchange.status is not None and exchange.status < 500:
        yield Finding("/status", " or ".join(map(str, sorted(known))), f"{exchange.status}")


@check("errors.body-is-json-object", on=REFUSAL, invalidates=("body", "type"))
def refusal_is_a_json_object(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The body of a refusal is a JSON object, unless HTTP itself defines the refusal, such as 415."""
    _require_documented(exchange)
    if not isinstance(exchange.json, dict):
        yield Finding("/body", "a JSON object", summarize(exchange))


@check("errors.envelope-fits", on=REFUSAL, invalidates=("field",))
def refusal_fits_the_dialects_envelope(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The body of a refusal is valid against the dialect's error envelope, unless HTTP itself defines the refusal."""
    _require_documented(exchange)
    for problem in context.validator.problems("ErrorEnvelope", exchange.json if exchange.json_error == "" else None):
        got = f"{problem.message} (the body is {envelope_of(exchange).name})"
        yield Finding(problem.where or "/", f"{problem.keyword} {problem.bound}", got)


@check("errors.json-content-type", on=REFUSAL)
def refusal_is_sent_as_json(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A refusal is sent as application/json, or as a JSON-based type such as application/problem+json.

    Not judged if HTTP itself defines the refusal, such as 415.
    """
    _require_documented(exchange)
    if not IS_JSON.fullmatch(exchange.content_type):
        yield Finding("/headers/content-type", "application/json", exchange.header("content-type") or "no header")


def _field_names(value: Any) -> Iterator[str]:
    """Yield the names of all fields within a JSON value."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _field_names(item)
    elif isinstance(value, list):
        for item in value:
            yield from _field_names(item)


@check("errors.names-the-parameter", on=Applicability(REFUSAL_OF_VALUE.applies_to, why_not_refused_somehow))
def refusal_names_the_parameter(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The refusal of an invalid value names the parameter, or a field of the value."""
    require_error_status(exchange, context.contract)
    subject = context.scenario.subject
    if subject is None:
        raise NotObserved("the request is not about one parameter")
    if not names_any(exchange, (subject.parameter, *_field_names(subject.value))):
        yield Finding("/body", f"a message that names {subject.parameter}", summarize(exchange))


@check("errors.no-traceback", on=REFUSAL)
def refusal_shows_no_traceback(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A refusal shows no internals of the server: no traceback, no file names with lines."""
    for text in (exchange.text, *texts_within(exchange.json)):  # in JSON the quotes of a traceback are escaped
        if found := TRACES.search(text):
            yield Finding("/body", "no traceback", found.group()[:120])
            return


@check("errors.envelope-known", on=REFUSAL)
def envelope_is_of_a_known_form(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A refusal has one of the envelopes that servers of this kind use, so that clients can read it.

    Not judged if HTTP itself defines the refusal, such as 415.
    """
    _require_documented(exchange)
    found = envelope_of(exchange)
    if found.form is None:
        yield Finding("/body", "a known error envelope", f"{found.name}: {summarize(exchange)}")


@check("errors.message-given", on=REFUSAL)
def message_says_something(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The message of a refusal has at least one letter."""
    found = envelope_of(exchange)
    if found.form is None:
        raise NotExercised(f"the body is {found.name}")
    if not any(character.isalpha() for character in str(found.message or "")):
        yield Finding(f"/{found.form.message.replace('.', '/')}", "a message", repr(found.message))


@check("errors.type-of-clients-fault", on=REFUSAL)
def type_does_not_blame_the_server(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The type of a refusal with 4xx does not say that the server failed: clients repeat such requests."""
    found = envelope_of(exchange)
    types = {name: found.field(name) for name in ("type", "error_type")}
    stated = {name: value for name, value in types.items() if isinstance(value, str) and value}
    if not stated or not 400 <= (exchange.status or 0) < 500:
        raise NotExercised("the refusal states no type, or has another status")
    for name, value in stated.items():
        if SERVERS_FAULT.search(value):
            yield Finding(f"/{name}", "the type of a fault of the client", repr(value)[:80])


@check("errors.code-is-status", on=REFUSAL)
def code_repeats_the_status(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A code or status in the envelope, if it is an HTTP status, is the status of the response."""
    found = envelope_of(exchange)
    codes = {name: found.field(name) for name in ("code", "status", "status_code")}
    numbers = {name: code for name, code in codes.items() if type(code) is int and code in HTTP_CODES}
    if not numbers:
        raise NotExercised("the envelope has no HTTP status")
    for name, code in numbers.items():
        if code != exchange.status:
            yield Finding(f"/{name}", f"{exchange.status}, as the status", f"{code}")


@check("errors.code-of-its-kind", on=Applicability(REFUSAL_OF_VALUE.applies_to, why_not_refused_somehow))
def code_is_not_that_of_a_key(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The refusal of a value does not have a code that the document's table lists for keys only."""
    kinds = context.contract.errors.kinds
    others = {row.code for name, row in kinds.items() if name not in ("unauthorized", "invalid_key")}
    codes = key_error_codes(context.contract) - others - {None}
    if not codes:
        raise NotExercised("the dialect's error table lists no code for keys")
    found = envelope_of(exchange).field("code")
    if isinstance(found, int | str) and found in codes:
        yield Finding("/code", f"none of {', '.join(map(str, sorted(codes, key=str)))}", repr(found))


@check("errors.param-is-the-parameter", on=REFUSAL_OF_VALUE)
def param_names_what_was_wrong(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """`param` of a refusal, if it is a string, names the parameter whose value was refused."""
    subject, param = context.scenario.subject, envelope_of(exchange).field("param")
    if subject is None or subject.check != "parameters.invalid-refused" or not isinstance(param, str) or not param:
        raise NotExercised("the refusal names no param")
    if subject.parameter not in param.replace("[", ".").replace("/", ".").replace("]", "").split("."):
        yield Finding("/error/param", subject.parameter, param)


@check("errors.refusal-is-short", on=REFUSAL)
def refusal_does_not_repeat_the_request(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A refusal is short: it does not repeat a long request."""
    if len(exchange.body) > MAX_REFUSAL:
        yield Finding("/body", f"at most {MAX_REFUSAL} bytes", format_quantity(len(exchange.body), "byte"))


@relation(
    "errors.envelopes-alike", over=("bad-json", "bad-value", "bad-model", "bad-object"), unmet=why_not_refused_somehow
)
def refusals_have_one_form(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """All refusals of a server have the same form, whatever was wrong, so that clients need to read only one."""
    for exchange in exchanges.values():
        require_error_status(exchange, context.contract)
    forms = {name: envelope_of(exchange).name for name, exchange in exchanges.items()}
    if len(set(forms.values())) > 1:
        yield Finding("/body", "one form", ", ".join(f"{name}: {form}" for name, form in forms.items()))
