"""Faults in which requests the server refuses, and with which status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from openapi.stream.strict_json import NOT_JSON, read_json
from reference_server.faults.decorators import around, at_seams, fault, knows
from reference_server.faults.fault_middleware import Faulty, chats
from reference_server.faults.hooks import DATA, DONE, FRAME_END, Reply, Seams
from reference_server.faults.request_edits import LONG, messages_of
from reference_server.faults.topics.tools.calls import calls

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Head, Told

    Ask = Callable[[Scope, Receive, Send], Awaitable[None]]

ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello!"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


@around("falls-after-an-error")
def falls_after_an_error(app: ASGIApp, contract: Contract) -> Ask:
    """After a body that is not JSON, the next good request gets a 500."""
    hurt: list[bool] = []

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        if not chats(scope, contract):
            await app(scope, receive, send)
            return
        message = await receive()
        body = message.get("body", b"")
        if body.startswith(b'{"model": ') and messages_of(body) is None and body.endswith(b'"model": '):
            hurt.append(True)
        elif hurt and messages_of(body) is not None and b'"max_tokens": 4' in body:
            await Reply(500, b"{}")(scope, receive, send)
            return
        pending: list[Message] = [message]

        async def again() -> Message:
            return pending.pop() if pending else await receive()

        await app(scope, again, send)

    return ask


@around("refused-otherwise-again", restless=True)
def refused_otherwise_again(app: ASGIApp, contract: Contract) -> Ask:
    """Every other time the same bad request gets a 500."""
    seen: set[bytes] = set()

    def again(head: Head, body: Any, told: Told) -> Any:
        if told.body in seen:
            head.status = 500
        seen.symmetric_difference_update([told.body])
        return body

    return Faulty(app, contract, Seams(refusal=again))


@fault("long-prompts-500", "refusal", bugs=[124])
def long_prompts_are_500(head: Head, body: Any, told: Told) -> Any:
    """A prompt that is too long gets a 500."""
    if len(told.body) > LONG:
        head.status = 500
    return body


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


@fault("refused-in-the-stream", "refusal", bugs=[125])
def refused_in_the_stream(head: Head, body: Any, told: Told) -> Any:
    """A bad request for a stream gets status 200 and an event with the error."""
    if told.sent.get("stream"):
        head.status = 200
        head.headers["content-type"] = "text/event-stream; charset=utf-8"
        return DATA + orjson.dumps(body) + FRAME_END + DONE
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


@fault("bad-history-500", "refusal", fits=calls, bugs=[96])
def bad_history_is_500(head: Head, body: Any, told: Told) -> Any:
    """Bad tool calls in the history get a 500."""
    if b'"tool_calls"' in told.body:
        head.status = 500
    return body
