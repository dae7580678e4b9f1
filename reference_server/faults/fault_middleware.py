"""Faulty: an application with the seams of a fault around it.

It reads the body, parses what comes back, and writes it anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from openapi.stream import sse
from reference_server.faults.hooks import DATA, DONE, FRAME_END, Head, Refused, Reply, Told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, Seams


class Faulty:
    """An application with a fault around it."""

    def __init__(self, app: ASGIApp, contract: Contract, seams: Seams) -> None:
        self._app = app
        self._contract = contract
        self._seams = seams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (self._seams.everywhere or chats(scope, self._contract)):
            await self._app(scope, receive, send)
            return
        body = await _read(receive)
        told = Told(self._contract, scope["method"], scope["path"], body, _object(body))
        if self._seams.request is not None and told.sent:
            before = orjson.dumps(told.sent, option=orjson.OPT_SORT_KEYS) if _fits_json(told.sent) else b""
            try:
                reply = self._seams.request(told)
            except Refused as error:
                status, refusal = self._contract.errors.render(error.kind, error.message)
                reply = Reply(status, orjson.dumps(refusal))
            if reply is not None:
                await reply(scope, receive, send)
                return
            if before and orjson.dumps(told.sent, option=orjson.OPT_SORT_KEYS) != before:
                body = orjson.dumps(told.sent)
                told = replace(told, sent=_object(told.body), memory=told.memory)  # what the client did send
                scope = _with_length(scope, len(body))
        await self._app(scope, _replayed(body, receive), _Answering(self._seams, told, send).send)


def _fits_json(value: Json) -> bool:
    try:
        orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):
        return False
    return True


def chats(scope: Scope, contract: Contract) -> bool:
    """Whether a request asks for a completion."""
    return bool(scope["method"] == "POST" and scope["path"] == contract.path)


async def _read(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return b"".join(parts)


def _object(body: bytes) -> Json:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _with_length(scope: Scope, length: int) -> Scope:
    headers = [pair for pair in scope["headers"] if pair[0] != b"content-length"]
    return {**scope, "headers": [*headers, (b"content-length", str(length).encode())]}


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body again, then whatever the client does."""
    rest: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return rest.pop() if rest else await receive()

    return again


class _Answering:
    """What comes back from the application, changed on its way to the client."""

    def __init__(self, seams: Seams, told: Told, send: Send) -> None:
        self._seams = seams
        self._told = told
        self._send = send
        self._start: Message | None = None
        self._head = Head(200, {})
        self._streams = False  # what the application said, whatever a fault makes of its head
        self._begun = False
        self._held = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in message["headers"]}
            self._head = Head(message["status"], headers)
            self._streams = self._head.streams
        elif self._streams and not self._is_edited_whole:
            await self._stream(message)
        else:
            self._held += message.get("body", b"")
            if not message.get("more_body"):
                await self._whole(self._held)

    @property
    def _is_edited_whole(self) -> bool:
        return self._seams.body is not None

    async def _begin(self, length: int | None = None) -> None:
        """Sends the head, once."""
        if self._begun:
            return
        self._begun = True
        head = self._head
        if length is not None and "content-length" in head.headers:
            head.headers["content-length"] = str(length)
        if self._seams.head is not None:
            self._seams.head(head, self._told)
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.headers.items()]
        if self._streams and length is not None:
            headers.append((b"content-length", str(length).encode()))
        await self._send({**(self._start or {}), "status": head.status, "headers": headers})

    async def _whole(self, body: bytes) -> None:
        """A body that is sent in one piece: an answer, a refusal, or another page."""
        seams, told, head = self._seams, self._told, self._head
        if head.status >= 400 and seams.refusal is not None:
            changed = seams.refusal(head, _value(body), told)
            body = changed if isinstance(changed, bytes) else orjson.dumps(changed)
        elif head.status < 300 and seams.answer is not None and (answer := _object(body)):
            seams.answer(answer, told)
            body = orjson.dumps(answer)
        rewrite = seams.body if self._streams else seams.body or seams.plain
        if head.status < 300 and rewrite is not None:
            body = rewrite(body, told)
        await self._begin(len(body))
        await self._send({"type": "http.response.body", "body": body})

    async def _stream(self, message: Message) -> None:
        """Events as they come; the application never cuts one in two."""
        await self._begin()
        more = bool(message.get("more_body"))
        frames = [frame + FRAME_END for frame in message.get("body", b"").split(FRAME_END) if frame]
        sent = [each for frame in frames for each in self._frames(frame)]
        body = b"".join(sent)
        if self._seams.pieces is not None:
            async for piece in self._seams.pieces(body, self._told):
                await self._send({"type": "http.response.body", "body": piece, "more_body": True})
            body = b""
        if body or not more:
            await self._send({"type": "http.response.body", "body": body, "more_body": more})

    def _frames(self, frame: bytes) -> Iterable[bytes]:
        told, seams = self._told, self._seams
        told.at += 1
        if seams.chunk is not None and frame != DONE and (chunk := _object(frame.removeprefix(DATA))):
            seams.chunk(chunk, told)
            frame = sse.encode(orjson.dumps(chunk))
        return (frame,) if seams.event is None else seams.event(frame, told)


def _value(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode(errors="replace")
