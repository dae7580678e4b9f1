"""Refusals: in whose words, with which status, and of what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from openapi.stream.strict_json import NOT_JSON, read_json
from reference_server.faults.decorators import at_seams, demands, fault, knows
from reference_server.faults.hooks import DATA, DONE, FRAME_END, Reply

if TYPE_CHECKING:
    from reference_server.faults.hooks import Head, Told

BAD = range(400, 500)
GREETING = [{"role": "user", "content": "Hello!"}]
TRACE = 'Traceback (most recent call last):\n  File "/srv/app.py", line 7, in chat\nValueError: bad value'
ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello!"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


def _value_was_bad(told: Told) -> bool:
    return bool(told.sent)


@fault("bad-value-500", "refusal", bugs=[121, 93, 109, 120, 96])
def bad_value_is_500(head: Head, body: Any, told: Told) -> Any:
    """A bad value gets a 500."""
    if _value_was_bad(told):
        head.status = 500
    return body


@fault("malformed-500", "refusal", bugs=[115])
def malformed_is_500(head: Head, body: Any, told: Told) -> Any:
    """A body that is not JSON gets a 500."""
    if not told.sent:
        head.status = 500
    return body


@fault("missing-messages-404", "refusal", bugs=[117])
def missing_messages_are_404(head: Head, body: Any, told: Told) -> Any:
    """A request without messages gets a 500."""
    if told.sent and "messages" not in told.sent:
        head.status = 500
    return body


def _limit_demanded(told: Told) -> None:
    if told.sent:
        told.sent.setdefault("max_tokens", "none")


limit_demanded = at_seams(
    "limit-demanded", "A request without `max_tokens` is refused.", request=_limit_demanded,
    fits=knows("max_tokens"), about="max_tokens",
)  # fmt: skip


@fault("status-418", "refusal", bugs=[114], fits=demands("errors.status-as-documented"))
def status_is_another(head: Head, body: Any, _told: Told) -> Any:
    """Bad requests get a status that no document has."""
    if head.status in BAD:
        head.status = 418
    return body


@fault("status-200", "refusal", bugs=[118])
def status_is_200(head: Head, body: Any, _told: Told) -> Any:
    """Refusals come with status 200."""
    head.status = 200
    return body


@fault("refused-in-the-stream", "refusal", bugs=[125])
def refused_in_the_stream(head: Head, body: Any, told: Told) -> Any:
    """A bad request for a stream gets status 200 and an event with the error."""
    if told.sent.get("stream"):
        head.status = 200
        head.headers["content-type"] = "text/event-stream; charset=utf-8"
        return DATA + orjson.dumps(body) + FRAME_END + DONE
    return body


@fault("refusals-are-text", "refusal", bugs=[133])
def refusals_are_text(_head: Head, _body: Any, _told: Told) -> Any:
    """Refusals are a bare text, sent as JSON."""
    return b"Bad Request"


@fault("refusals-are-pages", "refusal")
def refusals_are_pages(head: Head, _body: Any, _told: Told) -> Any:
    """Refusals are a page of HTML."""
    head.headers["content-type"] = "text/html"
    return b"<html><body>Bad Request</body></html>"


@fault("refusals-typed-as-text", "refusal")
def refusals_typed_as_text(head: Head, body: Any, _told: Told) -> Any:
    """Refusals are sent as text/plain."""
    head.headers["content-type"] = "text/plain"
    return body


@fault("refusals-of-another-api", "refusal", bugs=[111, 112])
def refusals_of_another_api(_head: Head, _body: Any, _told: Told) -> Any:
    """Refusals have the envelope of a web framework: detail, a list."""
    return {"detail": [{"loc": ["body"], "msg": "bad value", "type": "value_error"}]}


@fault("refusals-empty", "refusal", bugs=[111])
def refusals_are_empty(_head: Head, _body: Any, _told: Told) -> Any:
    """Refusals are an empty object."""
    return {}


@fault("refusals-are-lists", "refusal")
def refusals_are_lists(_head: Head, body: Any, _told: Told) -> Any:
    """Refusals stand in a list."""
    return [body]


@fault("refusals-say-nothing", "refusal")
def refusals_say_nothing(_head: Head, body: Any, _told: Told) -> Any:
    """Refusals do not name what was wrong."""
    return _said(body, "bad request")


@fault("refusals-show-traces", "refusal")
def refusals_show_traces(_head: Head, body: Any, _told: Told) -> Any:
    """Refusals show a traceback of the server."""
    return _said(body, TRACE)


def _is_message(name: str, value: object) -> bool:
    return name == "message" or (name == "error" and isinstance(value, str))


def _said(body: Any, message: str) -> Any:
    """The refusal with another message, wherever it stands."""
    if isinstance(body, dict):
        return {
            name: message
            if name == "message" or (name == "error" and isinstance(value, str))
            else _said(value, message)
            for name, value in body.items()
        }
    return body


@fault("malformed-accepted", "refusal", bugs=[121])
def malformed_is_accepted(head: Head, body: Any, told: Told) -> Any:
    """A body that is not JSON is answered."""
    if read_json(told.body.decode(errors="replace")).value is NOT_JSON:
        head.status = 200
        return ANSWER
    return body


@fault("no-object-accepted", "refusal", bugs=[121])
def no_object_is_accepted(head: Head, body: Any, told: Told) -> Any:
    """A body that is JSON but no object is answered."""
    value = read_json(told.body.decode(errors="replace")).value
    if value is not NOT_JSON and not isinstance(value, dict):
        head.status = 200
        return ANSWER
    return body


def _any_model(told: Told) -> None:
    if isinstance(told.sent.get("model"), str) and told.sent["model"]:
        told.sent["model"] = told.contract.default_model


any_model_answers = at_seams(
    "any-model-answers", "A model that is not served is answered by another.", request=_any_model, bugs=[118]
)


@fault("huge-integer-answered", "refusal", bugs=[121], fits=knows("seed"))
def huge_integer_is_answered(head: Head, body: Any, told: Told) -> Any:
    """An integer of hundreds of digits overflows and is taken for infinite."""
    if b"1" * 100 in told.body:
        head.status = 200
        return ANSWER
    return body


@fault("refuses-valid", "request")
def refuses_valid(told: Told) -> Reply | None:
    """A conversation with an answer of the assistant in it is refused."""
    messages = told.sent.get("messages")
    roles = (
        [message.get("role") for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
    )
    if "assistant" in roles:
        status, body = told.contract.errors.render("invalid_request", "messages: assistant is not allowed")
        return Reply(status, orjson.dumps(body))
    return None


@fault("unavailable-500", "request")
def falls_over(told: Told) -> Reply | None:
    """A request that has a system message gets a 500 in plain text."""
    messages = told.sent.get("messages")
    if isinstance(messages, list) and any(
        isinstance(message, dict) and message.get("role") == "system" for message in messages
    ):
        return Reply(500, b"Internal Server Error", "text/plain")
    return None


@fault("malformed-refused-otherwise", "refusal")
def malformed_is_refused_otherwise(_head: Head, body: Any, told: Told) -> Any:
    """A malformed body is refused in the form of the framework below."""
    return body if told.sent else {"detail": [{"loc": ["body", 0], "msg": "JSON decode error", "type": "json_invalid"}]}


@fault("refusals-of-no-api", "refusal", bugs=[111])
def refusals_of_no_api(_head: Head, _body: Any, _told: Told) -> Any:
    """Refusals are an object with members that no client knows."""
    return {"oops": True, "why": 7}


@fault("refusals-without-words", "refusal")
def refusals_without_words(_head: Head, body: Any, _told: Told) -> Any:
    """The message of a refusal is empty."""
    return _said(body, "")


@fault("refusals-repeat-requests", "refusal")
def refusals_repeat_requests(_head: Head, body: Any, told: Told) -> Any:
    """A refusal repeats the request many times."""
    return _said(body, f"max_tokens: {told.body.decode(errors='replace')[:4000]}" * 64)


@fault("refusals-of-another-status", "refusal", fits=demands("errors.code-is-status"))
def refusals_of_another_status(_head: Head, body: Any, _told: Told) -> Any:
    """The code in the envelope is that of another status."""
    if isinstance(body, dict):
        holder = body["error"] if isinstance(body.get("error"), dict) else body
        holder["code"] = 500
    return body


@fault("param-is-another", "refusal", fits=demands("errors.param-is-the-parameter"))
def param_is_another(_head: Head, body: Any, _told: Told) -> Any:
    """`param` names a parameter that was not wrong."""
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body["error"]["param"] = "user"
    return body


@fault("hostile-500", "refusal", bugs=[115, 121])
def hostile_bodies_are_500(head: Head, body: Any, told: Told) -> Any:
    """What only exhausts a parser, or holds what parsers disagree on, gets a 500."""
    if told.sent.get("model") is None or told.body.count(b"[") > 64 or b"\\u0000" in told.body:
        head.status = 500
    return body


@fault("streams-refused-otherwise", "refusal")
def streams_are_refused_otherwise(head: Head, body: Any, told: Told) -> Any:
    """A bad request for a stream is refused with another status."""
    if told.sent.get("stream"):
        head.status = 409
    return body


@fault("challenge-missing", "refusal", fits=lambda contract: contract.auth == "bearer")
def challenge_is_missing(head: Head, body: Any, _told: Told) -> Any:
    """A 401 does not say how to sign in."""
    head.headers.pop("www-authenticate", None)
    return body


@fault("key-refused-with-400", "refusal", fits=lambda contract: contract.auth == "bearer")
def key_is_refused_with_400(head: Head, body: Any, _told: Told) -> Any:
    """A missing or wrong key is refused with 400."""
    if head.status in (401, 403):
        head.status = 400
    return body
