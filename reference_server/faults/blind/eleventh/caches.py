"""Blind faults of caches: answers without a key, streams without their calls, and keys without parts of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.answer_cache import answer_cache, key_of
from reference_server.faults.blind.body_recipes import parts_of
from reference_server.faults.blind.recipes import is_greedy, messages_of, per_server
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, message_of, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request, parse_object, read_body, replay_body
from reference_server.faults.hooks import CannedResponse, Hooks

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest
    from reference_server.faults.http_gate import App

SUCCESS: Final = 200
UNAUTHORIZED: Final = 401
PARTS: Final = [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]


@wrapping_fault("hits-need-no-key", applies_to=lambda contract: contract.auth == "bearer")
def hits_need_no_key(app: ASGIApp, contract: Contract) -> App:
    """A greedy plain request that was answered before is answered from a cache, whatever its key."""
    answers: dict[bytes, bytes] = {}

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        body = await read_body(receive)
        sent = parse_object(body)
        is_cached = is_greedy(sent) and not sent.get("stream")
        kept: dict[str, Any] = {"body": b""}

        async def send_and_keep(message: Message) -> None:
            kept["status"] = message.get("status", kept.get("status"))
            kept["body"] += message.get("body", b"")
            if kept["status"] == UNAUTHORIZED and is_cached and body in answers:
                return
            is_whole = message["type"] == "http.response.body" and not message.get("more_body")
            if kept["status"] == SUCCESS and is_cached and is_whole:
                answers[body] = kept["body"]
            await send(message)

        await app(scope, replay_body(body, receive), send_and_keep)
        if kept.get("status") == UNAUTHORIZED and is_cached and body in answers:
            await CannedResponse(SUCCESS, answers[body])(scope, receive, send)

    return serve


def _lose_calls() -> Hooks:
    """Build chunks of an answer in the cache from its text. Violates delta.tool_calls: the calls of the answer."""
    seen: set[bytes] = set()

    def look_up(request: ServedRequest) -> None:
        if request.payload.get("stream") is True and request.payload.get("tools") and is_greedy(request.payload):
            key = key_of(request.payload)
            request.state["hit"] = key in seen
            seen.add(key)

    def forget(chunk: Json, request: ServedRequest) -> None:
        for choice in choices_of(chunk) if request.state.get("hit") else ():
            message_of(choice).pop("tool_calls", None)
            if choice.get("finish_reason") == "tool_calls":
                choice["finish_reason"] = "stop"

    return Hooks(request=look_up, chunk=forget)


def _without_parts(sent: Json) -> bytes:
    """Return the key of the texts that are strings. Violates messages.content: a list of parts counts too."""
    messages = [
        {**message, "content": None if isinstance(message.get("content"), list) else message.get("content")}
        for message in messages_of(sent)
    ]
    return key_of({**sent, "messages": messages})


def _has_texts_in_parts(sent: Json) -> bool:
    parts = parts_of(sent)
    return is_greedy(sent) and bool(parts) and all(part.get("type") == "text" for part in parts)


repeated_streams_lose_calls = per_server(
    "repeated-streams-lose-calls",
    "A greedy stream that is repeated comes from a cache, and lacks the tool calls of the first one.",
    _lose_calls,
    applies_to=has_parameters("tools"),
)
cached_whatever_the_parts = answer_cache(
    "cached-whatever-the-parts",
    "Greedy plain answers are cached, and the key of the cache lacks messages that are lists of parts.",
    _without_parts,
    _has_texts_in_parts,
    applies_to=allows(messages=PARTS),
)
