"""Faults in how the server checks API keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from reference_server.faults.decorators import fault, requires_check, wrapping_fault
from reference_server.faults.fault_middleware import (
    FaultMiddleware,
    is_chat_request,
    parse_object,
    read_body,
    replay_body,
)
from reference_server.faults.hooks import CannedResponse, Hooks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ResponseHead, ServedRequest

REFUSED = (401, 403)
KNOWN = 8  # characters of a key


def asks(contract: Contract) -> bool:
    """Apply to dialects that require an API key."""
    return contract.auth == "bearer"


def _answer(model: str) -> bytes:
    message = {"role": "assistant", "content": "Hello!"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return orjson.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice]})


@fault("key-not-demanded", "refusal", applies_to=asks)
def key_is_not_demanded(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """Requests without a key or with a wrong key are answered."""
    if head.status in REFUSED:
        head.status = 200
        return _answer(str(request.payload.get("model")))
    return body


@fault("key-500-when-streaming", "refusal", applies_to=asks)
def key_fails_when_streaming(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """A streamed request without a key gets a 500."""
    if head.status in REFUSED and request.payload.get("stream"):
        head.status = 500
    return body


@fault("key-refused-without-code", "refusal", applies_to=requires_check("auth.refusal-code"), bugs=[133])
def key_is_refused_without_a_code(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """A key is refused with a plain string."""
    if head.status in REFUSED:
        head.headers["content-type"] = "text/plain"
        return b"Unauthorized"
    return body


@fault("key-asked-for-last", "request", applies_to=asks)
def key_is_asked_for_last(request: ServedRequest) -> CannedResponse | None:
    """Parameters are validated before the key."""
    if "max_tokens" in request.payload and type(request.payload["max_tokens"]) is not int:
        status, body = request.contract.errors.render("invalid_request", "max_tokens must be an integer")
        return CannedResponse(status, orjson.dumps(body))
    return None


@wrapping_fault("key-in-any-scheme", applies_to=asks)
def key_in_any_scheme(app: ASGIApp, contract: Contract) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """Any value of the Authorization header is accepted as a key."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        sent = [value for name, value in scope["headers"] if name == b"authorization"]
        if sent and b" " not in sent[0] and scope["path"] == contract.path:
            await CannedResponse(200, _answer(contract.default_model))(scope, receive, send)
        else:
            await app(scope, receive, send)

    return serve


@wrapping_fault("key-repeated", applies_to=asks)
def key_is_repeated(app: ASGIApp, contract: Contract) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """The refusal of a key contains the key."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        sent = b" ".join(value for name, value in scope["headers"] if name == b"authorization").decode("latin-1")

        def repeat(_head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
            return {**body, "sent": sent} if isinstance(body, dict) and sent else body

        await FaultMiddleware(app, contract, Hooks(refusal=repeat))(scope, receive, send)

    return serve


@wrapping_fault("scheme-in-one-case", applies_to=asks)
def scheme_is_known_in_one_case(app: ASGIApp, contract: Contract) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """A correct key is refused if the scheme is written `bearer` in lower case."""
    status, body = contract.errors.render("unauthorized", "no API key")

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        sent = [value for name, value in scope["headers"] if name == b"authorization"]
        odd = sent and sent[0][:6].lower() == b"bearer" and sent[0][:6] != b"Bearer"
        await (CannedResponse(status, orjson.dumps(body)) if odd else app)(scope, receive, send)

    return serve


@wrapping_fault("key-judged-by-its-beginning", applies_to=asks)
def key_is_judged_by_its_beginning(
    app: ASGIApp, _contract: Contract
) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """A key is accepted if its first eight characters are those of an accepted key."""
    known: dict[bytes, bytes] = {}

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        sent = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        begun = sent[: len(b"Bearer ") + KNOWN]
        headers = [(name, known.get(begun, value) if value is sent else value) for name, value in scope["headers"]]

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] not in REFUSED and sent:
                known.setdefault(begun, sent)
            await send(message)

        await app({**scope, "headers": headers}, receive, note)

    return serve


@fault("challenge-missing", "refusal", applies_to=lambda contract: contract.auth == "bearer")
def challenge_is_missing(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """A 401 has no WWW-Authenticate header."""
    head.headers.pop("www-authenticate", None)
    return body


@fault("key-refused-with-400", "refusal", applies_to=lambda contract: contract.auth == "bearer")
def key_is_refused_with_400(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """A missing or wrong key is refused with 400."""
    if head.status in (401, 403):
        head.status = 400
    return body


@wrapping_fault("key-kept-for-a-connection", applies_to=lambda contract: contract.auth == "bearer")
def key_is_remembered(app: ASGIApp, _contract: Contract) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """A request without a key is answered if the previous one on the connection had the right key."""
    known: dict[tuple[Any, ...], bytes] = {}

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        client = tuple(scope["client"] or ())
        sent = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        headers = (
            scope["headers"] if sent or client not in known else [*scope["headers"], (b"authorization", known[client])]
        )

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200 and sent:
                known[client] = sent
            await send(message)

        await app({**scope, "headers": headers}, receive, note)

    return serve


@wrapping_fault("key-skipped-by-the-cache", applies_to=asks)
def cached_answers_need_no_key(app: ASGIApp, contract: Contract) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """A plain greedy request that was answered before is answered from a cache, before the key is checked."""
    known: dict[bytes, list[Message]] = {}

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        body = await read_body(receive)
        if body in known:
            for message in known[body]:
                await send(message)
            return
        sent: list[Message] = []

        async def keep(message: Message) -> None:
            sent.append(message)
            await send(message)

        await app(scope, replay_body(body, receive), keep)
        payload = parse_object(body)
        is_greedy = payload.get("temperature") == 0 and not payload.get("stream")
        if is_greedy and sent and sent[0].get("status") == 200:
            known[body] = sent

    return serve
