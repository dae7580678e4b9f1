"""Faults in which requests the server refuses, and with which status."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream.strict_json import NOT_JSON, read_json
from reference_server.faults.decorators import fault, has_parameters, hooked_fault, wrapping_fault
from reference_server.faults.fault_middleware import FaultMiddleware, is_chat_request
from reference_server.faults.hooks import DATA, DONE, FRAME_END, CannedResponse, Hooks
from reference_server.faults.request_edits import LONG, messages_of
from reference_server.faults.topics.tools.calls import calls

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

SOON_S: Final = 3.0
ANSWER: Json = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello!"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


@wrapping_fault("falls-after-an-error")
def falls_after_an_error(app: ASGIApp, contract: Contract) -> App:
    """After a body that is not JSON, the next valid request gets a 500."""
    hurt: list[bool] = []

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        message = await receive()
        body = message.get("body", b"")
        if body.startswith(b'{"model": ') and messages_of(body) is None and body.endswith(b'"model": '):
            hurt.append(True)
        elif hurt and messages_of(body) is not None and b'"max_tokens": 4' in body:
            await CannedResponse(500, b"{}")(scope, receive, send)
            return
        pending: list[Message] = [message]

        async def again() -> Message:
            return pending.pop() if pending else await receive()

        await app(scope, again, send)

    return serve


@wrapping_fault("refused-as-a-conflict-soon-after")
def refused_as_a_conflict(app: ASGIApp, contract: Contract) -> App:
    """An invalid request that follows the same one within three seconds gets a 409."""
    refused_at: dict[bytes, float] = {}

    def again(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
        now = time.monotonic()
        if now - refused_at.get(request.body, -math.inf) < SOON_S:
            head.status = 409
        refused_at[request.body] = now
        return body

    return FaultMiddleware(app, contract, Hooks(refusal=again))


@wrapping_fault("refused-otherwise-again", flaky=True)
def refused_otherwise_again(app: ASGIApp, contract: Contract) -> App:
    """Every second time, the same invalid request gets a 500."""
    seen: set[bytes] = set()

    def again(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
        if request.body in seen:
            head.status = 500
        seen.symmetric_difference_update([request.body])
        return body

    return FaultMiddleware(app, contract, Hooks(refusal=again))


@fault("long-prompts-500", "refusal", bugs=[124])
def long_prompts_are_500(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """A prompt that is too long gets a 500."""
    if len(request.body) > LONG:
        head.status = 500
    return body


def _value_was_bad(request: ServedRequest) -> bool:
    return bool(request.payload)


@fault("bad-value-500", "refusal", bugs=[121, 93, 109, 120, 96])
def bad_value_is_500(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """An invalid value gets a 500."""
    if _value_was_bad(request):
        head.status = 500
    return body


@fault("malformed-500", "refusal", bugs=[115])
def malformed_is_500(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """A body that is not JSON gets a 500."""
    if not request.payload:
        head.status = 500
    return body


@fault("refused-in-the-stream", "refusal", bugs=[125])
def refused_in_the_stream(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """An invalid request for a stream gets status 200 and an event with the error."""
    if request.payload.get("stream"):
        head.status = 200
        head.headers["content-type"] = "text/event-stream; charset=utf-8"
        return DATA + orjson.dumps(body) + FRAME_END + DONE
    return body


@fault("malformed-accepted", "refusal", bugs=[121])
def malformed_is_accepted(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """A body that is not JSON is answered."""
    if read_json(request.body.decode(errors="replace")).value is NOT_JSON:
        head.status = 200
        return ANSWER
    return body


@fault("no-object-accepted", "refusal", bugs=[121])
def no_object_is_accepted(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """A JSON body that is not an object is answered."""
    value = read_json(request.body.decode(errors="replace")).value
    if value is not NOT_JSON and not isinstance(value, dict):
        head.status = 200
        return ANSWER
    return body


def _any_model(request: ServedRequest) -> None:
    if isinstance(request.payload.get("model"), str) and request.payload["model"]:
        request.payload["model"] = request.contract.default_model


any_model_answers = hooked_fault(
    "any-model-answers", "A request for an unknown model is answered by another model.", request=_any_model, bugs=[118]
)


@fault("huge-integer-answered", "refusal", bugs=[121], applies_to=has_parameters("seed"))
def huge_integer_is_answered(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """An integer of hundreds of digits overflows to infinity."""
    if b"1" * 100 in request.body:
        head.status = 200
        return ANSWER
    return body


@fault("unavailable-500", "request")
def falls_over(request: ServedRequest) -> CannedResponse | None:
    """A request with a system message gets a 500 in plain text."""
    messages = request.payload.get("messages")
    if isinstance(messages, list) and any(
        isinstance(message, dict) and message.get("role") == "system" for message in messages
    ):
        return CannedResponse(500, b"Internal Server Error", "text/plain")
    return None


@fault("malformed-refused-otherwise", "refusal")
def malformed_is_refused_otherwise(_head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """A malformed body is refused with the error envelope of the web framework."""
    return (
        body
        if request.payload
        else {"detail": [{"loc": ["body", 0], "msg": "JSON decode error", "type": "json_invalid"}]}
    )


@fault("hostile-500", "refusal", bugs=[115, 121])
def hostile_bodies_are_500(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """Deeply nested or ambiguous JSON gets a 500."""
    if request.payload.get("model") is None or request.body.count(b"[") > 64 or b"\\u0000" in request.body:
        head.status = 500
    return body


@fault("streams-refused-otherwise", "refusal")
def streams_are_refused_otherwise(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """An invalid request for a stream is refused with another status than a plain one."""
    if request.payload.get("stream"):
        head.status = 409
    return body


@fault("bad-history-500", "refusal", applies_to=calls, bugs=[96])
def bad_history_is_500(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """Invalid tool calls in the history get a 500."""
    if b'"tool_calls"' in request.body:
        head.status = 500
    return body
