"""ASGI middleware that calls the hooks of a fault.

It reads the request body, parses the response, and writes it again with the changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from openapi.stream import sse
from reference_server.faults.hooks import (
    DATA,
    DONE,
    FRAME_END,
    CannedResponse,
    Refusal,
    ResponseHead,
    ServedRequest,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Hooks, Json


class FaultMiddleware:
    """An application that shows one fault."""

    def __init__(self, app: ASGIApp, contract: Contract, hooks: Hooks) -> None:
        self._app = app
        self._contract = contract
        self._hooks = hooks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (self._hooks.everywhere or is_chat_request(scope, self._contract)):
            await self._app(scope, receive, send)
            return
        body = await read_body(receive)
        request = ServedRequest(self._contract, scope["method"], scope["path"], body, parse_object(body))
        if self._hooks.request is not None and request.payload:
            payload = request.payload
            before = orjson.dumps(payload, option=orjson.OPT_SORT_KEYS) if _is_serializable(payload) else b""
            try:
                response = self._hooks.request(request)
            except Refusal as error:
                status, refusal = self._contract.errors.render(error.kind, error.message)
                response = CannedResponse(status, orjson.dumps(refusal))
            if response is not None:
                await response(scope, receive, send)
                return
            if before and orjson.dumps(request.payload, option=orjson.OPT_SORT_KEYS) != before:
                body = orjson.dumps(request.payload)
                # The response hooks see what the client sent, not what the request hook made of it.
                request = replace(request, payload=parse_object(request.body), state=request.state)
                scope = with_length(scope, len(body))
        await self._app(scope, replay_body(body, receive), _ResponseEditor(self._hooks, request, send).send)


def is_chat_request(scope: Scope, contract: Contract) -> bool:
    """Whether a request goes to the chat endpoint."""
    return bool(scope["method"] == "POST" and scope["path"] == contract.path)


def _is_serializable(value: Json) -> bool:
    try:
        orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):
        return False
    return True


async def read_body(receive: Receive) -> bytes:
    """Read the whole body of a request."""
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return b"".join(parts)


def parse_object(body: bytes) -> Json:
    """Return the JSON object in a body; an empty one if the body is not a JSON object."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def with_length(scope: Scope, length: int) -> Scope:
    """Return the scope of a request with another length of its body."""
    headers = [pair for pair in scope["headers"] if pair[0] != b"content-length"]
    return {**scope, "headers": [*headers, (b"content-length", str(length).encode())]}


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields the body again and then the client's further messages."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


class _ResponseEditor:
    """Receives the application's response, calls the hooks, and sends the result to the client."""

    def __init__(self, hooks: Hooks, request: ServedRequest, send: Send) -> None:
        self._hooks = hooks
        self._request = request
        self._send = send
        self._start: Message | None = None
        self._head = ResponseHead(200, {})
        self._streams = False  # by the application's own headers, whatever a hook changes
        self._begun = False
        self._buffer = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in message["headers"]}
            self._head = ResponseHead(message["status"], headers)
            self._streams = self._head.streams
        elif self._streams and self._hooks.body is None:
            await self._send_stream(message)
        else:
            self._buffer += message.get("body", b"")
            if not message.get("more_body"):
                await self._send_whole(self._buffer)

    async def _send_head(self, length: int | None = None) -> None:
        """Send the response head, once."""
        if self._begun:
            return
        self._begun = True
        head = self._head
        if length is not None and "content-length" in head.headers:
            head.headers["content-length"] = str(length)
        if self._hooks.head is not None:
            self._hooks.head(head, self._request)
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.headers.items()]
        if self._streams and length is not None:
            headers.append((b"content-length", str(length).encode()))
        await self._send({**(self._start or {}), "status": head.status, "headers": headers})

    async def _send_whole(self, body: bytes) -> None:
        """Send a body in one piece: an answer, a refusal, or another page."""
        hooks, request, head = self._hooks, self._request, self._head
        if head.status >= 400 and hooks.refusal is not None:
            changed = hooks.refusal(head, _value(body), request)
            body = changed if isinstance(changed, bytes) else orjson.dumps(changed)
        elif head.status < 300 and hooks.answer is not None and (answer := parse_object(body)):
            hooks.answer(answer, request)
            body = orjson.dumps(answer)
        rewrite = hooks.body if self._streams else hooks.body or hooks.plain
        if head.status < 300 and rewrite is not None:
            body = rewrite(body, request)
        await self._send_head(len(body))
        await self._send({"type": "http.response.body", "body": body})

    async def _send_stream(self, message: Message) -> None:
        """Send events as they come. The application never splits an event."""
        await self._send_head()
        more = bool(message.get("more_body"))
        frames = [frame + FRAME_END for frame in message.get("body", b"").split(FRAME_END) if frame]
        body = b"".join(edited for frame in frames for edited in self._edit_frame(frame))
        if self._hooks.pieces is not None:
            async for piece in self._hooks.pieces(body, self._request):
                await self._send({"type": "http.response.body", "body": piece, "more_body": True})
            body = b""
        if body or not more:
            await self._send({"type": "http.response.body", "body": body, "more_body": more})

    def _edit_frame(self, frame: bytes) -> Iterable[bytes]:
        request, hooks = self._request, self._hooks
        request.event_index += 1
        if hooks.chunk is not None and frame != DONE and (chunk := parse_object(frame.removeprefix(DATA))):
            hooks.chunk(chunk, request)
            frame = sse.encode(orjson.dumps(chunk))
        return (frame,) if hooks.event is None else hooks.event(frame, request)


def _value(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode(errors="replace")
