"""Refusals: whose fault it is, in which envelope, and that the server goes on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotObserved, check
from conformance.judge.applicability import REFUSAL, REFUSAL_OF_VALUE, scenario, shown, unsuccessful
from conformance.judge.checks.parameters import refused
from conformance.judge.error_envelope import envelope_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

TRACES = re.compile(  # of Python, the Java machine, JavaScript, Go and Rust
    r'Traceback \(most recent call last\)|File "[^"]+", line \d+|\bat [\w.$<>]+ ?\([^()\s]+:\d+(?::\d+)?\)'
    r"|\bgoroutine \d+ \[\w+\]:|\bpanicked at \S+:\d+:\d+"
)


IS_JSON = re.compile(r"application/(?:[^/]+\+)?json")  # "+json" by RFC 6839; problem details by RFC 9457
BULKY = 65_536  # bytes of a request that a server may find too many


def _statuses_of_http(exchange: Exchange) -> set[int]:
    """The statuses that HTTP has for what is strange around this request, whatever a dialect documents."""
    headers = {name.lower(): value for name, value in exchange.request.headers}
    found = {413} if len(exchange.request.body) > BULKY else set()
    if headers.get("content-type", "").lower() != "application/json" or "content-encoding" in headers:
        found.add(415)
    expected = {"accept": 406, "transfer-encoding": 411, "expect": 417}
    return found | {status for name, status in expected.items() if headers.get(name, "*/*") != "*/*"}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


@check("errors.client-fault-is-4xx", on=REFUSAL)
def clients_fault_is_not_the_servers(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request that the client got wrong is refused with 4xx, never with 5xx.

    A 5xx makes clients retry and operators search for a fault that is not theirs.
    """
    if exchange.status is not None and exchange.status >= 500:
        yield Finding("/status", "4xx", shown(exchange))


@check("errors.status-as-documented", on=REFUSAL)
def status_is_the_dialects(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A refused request gets the status that the dialect's servers use."""
    kinds = context.contract.errors.kinds
    known = {kinds[name].status for name in ("invalid_json", "invalid_request", "unknown_model", "unauthorized")}
    if context.contract.auth == "none":
        known.discard(kinds["unauthorized"].status)
    known |= _statuses_of_http(exchange)
    if exchange.status not in known and exchange.status is not None and exchange.status < 500:
        yield Finding("/status", " or ".join(map(str, sorted(known))), f"{exchange.status}")


@check("errors.body-is-json-object", on=REFUSAL)
def refusal_is_a_json_object(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The body of a refusal is a JSON object."""
    if not isinstance(exchange.json, dict):
        yield Finding("/body", "a JSON object", shown(exchange))


@check("errors.envelope-fits", on=REFUSAL)
def refusal_fits_the_dialects_envelope(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The body of a refusal is valid against the dialect's error envelope."""
    for problem in context.validator.problems("ErrorEnvelope", exchange.json if exchange.json_error == "" else None):
        got = f"{problem.message} (the body is {envelope_of(exchange).name})"
        yield Finding(problem.where or "/", f"{problem.keyword} {problem.bound}", got)


@check("errors.json-content-type", on=REFUSAL)
def refusal_is_sent_as_json(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A refusal is sent as application/json, or as a type of JSON's own suffix such as application/problem+json."""
    if not IS_JSON.fullmatch(exchange.content_type):
        yield Finding("/headers/content-type", "application/json", exchange.header("content-type") or "no header")


def _members(value: Any) -> Iterator[str]:
    """The names of all members within a value."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _members(item)
    elif isinstance(value, list):
        for item in value:
            yield from _members(item)


@check("errors.names-the-parameter", on=REFUSAL_OF_VALUE)
def refusal_names_the_parameter(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The refusal of a bad value names the parameter, or a member of what was sent for it."""
    subject = context.scenario.subject
    if subject is None:
        raise NotObserved("the request is not about one parameter")
    # A word of its own: "n" stands in almost every message. ASCII, for Chinese needs no space around it.
    names = "|".join(re.escape(name) for name in (subject.parameter, *_members(subject.value)))
    named = re.compile(rf"(?<!\w)(?:{names})(?!\w)", re.ASCII | re.IGNORECASE)
    if not any(named.search(text) for text in _texts(exchange.json)):
        yield Finding("/body", f"a message that names {subject.parameter}", shown(exchange))


@check("errors.no-traceback", on=REFUSAL)
def refusal_shows_no_traceback(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A refusal shows nothing of the server's inside: no traceback, no files and lines."""
    for text in (exchange.text, *_texts(exchange.json)):  # in JSON the quotes of a traceback are escaped
        if found := TRACES.search(text):
            yield Finding("/body", "no traceback", found.group()[:120])
            return


@check("errors.before-the-stream", on=scenario("refused-stream"))
def streamed_request_is_refused_before_the_stream(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A bad request with `stream: true` is refused with its status, before any event."""
    if exchange.status is None:
        raise NotObserved(shown(exchange))
    if not 400 <= exchange.status < 500 or exchange.is_stream:
        yield Finding("/status", "4xx and no events", shown(exchange))


@check("errors.malformed-json-refused", on=scenario("malformed-*"))
def malformed_json_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A body that is not JSON is refused as the client's fault."""
    if not refused(exchange):
        yield Finding("/status", "4xx", shown(exchange))


@check("errors.body-not-object-refused", on=scenario("not-an-object-*"))
def body_that_is_no_object_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A body that is JSON but no object is refused as the client's fault."""
    if not refused(exchange):
        yield Finding("/status", "4xx", shown(exchange))


@check("errors.unknown-model-refused", on=scenario("unknown-model*"))
def unknown_model_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request for a model that is not served is refused, not answered by another model."""
    if not refused(exchange):
        yield Finding("/model", "4xx", shown(exchange))


@check("errors.huge-integer-survived", on=scenario("huge-integer"))
def integer_of_many_digits_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An integer of 400 digits is refused as the client's fault: no overflow, no crash."""
    if not refused(exchange):
        yield Finding("/seed", "4xx", shown(exchange))


@check("errors.server-goes-on", on=scenario("goes-on-after-errors", "good"))
def good_request_is_answered_after_bad_ones(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """After bad requests the server answers a good one."""
    if lack := unsuccessful(exchange):
        yield Finding("/status", "200", lack)
