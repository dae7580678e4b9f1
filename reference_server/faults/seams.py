"""Seams: the few places where a fault takes hold, as decorators. All but the engine's lie around the application.

What was asked can be changed before it is read; answers, chunks, events, heads and refusals before they are sent. The
wrapper reads the body, parses what comes back, and writes it anew; so a fault is a function over plain data.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import orjson
from starlette.responses import Response

from openapi import sse
from reference_server.faults.fault import Fault, said

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract import Contract
    from reference_server.engine import Engine, Generation, SamplingParams
    from reference_server.faults.fault import Place

Json = dict[str, Any]
DATA: Final = b"data: "
DONE: Final = b"data: [DONE]\n\n"
FRAME_END: Final = b"\n\n"


@dataclass(slots=True)
class Told:
    """One request, and what a fault remembers of it. sent: the body's object, empty where it is none."""

    contract: Contract
    method: str
    path: str
    body: bytes
    sent: Json
    memory: Json = field(default_factory=dict)
    at: int = -1  # of the event in hand


@dataclass(slots=True)
class Head:
    """Status and headers of an answer, names in lower case."""

    status: int
    headers: dict[str, str]

    @property
    def streams(self) -> bool:
        """Whether an event stream follows."""
        return self.headers.get("content-type", "").startswith(sse.MEDIA_TYPE)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a fault answers by itself, in place of the server."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await Response(self.body, self.status, dict(self.headers), self.content_type)(scope, receive, send)


class Refused(Exception):
    """Raised by a fault that refuses a request: a row of the dialect's error table and a message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


@dataclass(frozen=True, slots=True)
class Seams:
    """What one fault does at each place. Everything is edited in place, but events and bodies, which are returned.

    body: of an answer as a whole, streamed or not. plain: of plain answers only. pieces: what is sent at once.
    everywhere: also on other paths than the chat endpoint.
    """

    request: Callable[[Told], Reply | None] | None = None
    head: Callable[[Head, Told], None] | None = None
    answer: Callable[[Json, Told], None] | None = None
    body: Callable[[bytes, Told], bytes] | None = None
    plain: Callable[[bytes, Told], bytes] | None = None
    chunk: Callable[[Json, Told], None] | None = None
    event: Callable[[bytes, Told], Iterable[bytes]] | None = None
    refusal: Callable[[Head, Any, Told], Any] | None = None
    pieces: Callable[[bytes, Told], AsyncIterator[bytes]] | None = None
    everywhere: bool = False

    @property
    def shows(self) -> Place:
        """Where they show."""
        if self.everywhere or self.head is not None:
            return "anywhere"
        if self.request is not None:
            return "requests"
        in_answers = (self.answer, self.body, self.plain, self.chunk, self.event, self.pieces)
        if self.refusal is None:
            return "answers"
        return "anywhere" if any(each is not None for each in in_answers) else "refusals"


class Faulty:
    """An application with a fault around it."""

    def __init__(self, app: ASGIApp, contract: Contract, seams: Seams) -> None:
        self._app = app
        self._contract = contract
        self._seams = seams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (self._seams.everywhere or _chats(scope, self._contract)):
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


def _chats(scope: Scope, contract: Contract) -> bool:
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
        self._begun = False
        self._held = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in message["headers"]}
            self._head = Head(message["status"], headers)
        elif self._head.streams and not self._is_edited_whole:
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
        streams = head.streams
        if self._seams.head is not None:
            self._seams.head(head, self._told)
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.headers.items()]
        if streams and length is not None:
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
        rewrite = seams.body if head.streams else seams.body or seams.plain
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


def always(_contract: Contract) -> bool:
    """Every dialect speaks to it."""
    return True


def demands(*checks: str) -> Callable[[Contract], bool]:
    """The dialect has one of these requirements."""
    return lambda contract: any(each in contract.requirements for each in checks)


def knows(*parameters: str) -> Callable[[Contract], bool]:
    """The dialect has all of these parameters."""
    return lambda contract: set(parameters) <= set(contract.parameters)


def fault(
    name: str,
    at: str,
    *,
    bugs: Iterable[int] = (),
    fits: Callable[[Contract], bool] = always,
    declares: tuple[str, ...] = (),
    denies: tuple[str, ...] = (),
    about: str | None = None,
    everywhere: bool = False,
    benign: bool = False,
    patience_s: float | None = None,
) -> Callable[[Callable[..., Any]], Fault]:
    """Makes a function a fault at one seam (a field of Seams). Its docstring says what the server does."""

    def make(function: Callable[..., Any]) -> Fault:
        seams = Seams(**{at: function}, everywhere=everywhere)
        return Fault(
            name,
            said(function),
            fits,
            lambda app, contract: Faulty(app, contract, seams),
            bugs=tuple(bugs),
            declares=declares,
            denies=denies,
            about=about,
            benign=benign,
            shows=seams.shows,
            patience_s=patience_s,
        )

    return make


def at_seams(
    name: str,
    line: str,
    *,
    bugs: Iterable[int] = (),
    fits: Callable[[Contract], bool] = always,
    declares: tuple[str, ...] = (),
    denies: tuple[str, ...] = (),
    about: str | None = None,
    benign: bool = False,
    patience_s: float | None = None,
    **seams: Any,
) -> Fault:
    """A fault that takes hold at several seams."""
    made = Seams(**seams)
    return Fault(
        name,
        line,
        fits,
        lambda app, contract: Faulty(app, contract, made),
        bugs=tuple(bugs),
        declares=declares,
        denies=denies,
        about=about,
        benign=benign,
        patience_s=patience_s,
        shows=made.shows,
    )


def around(
    name: str,
    *,
    bugs: Iterable[int] = (),
    fits: Callable[[Contract], bool] = always,
    declares: tuple[str, ...] = (),
    denies: tuple[str, ...] = (),
    benign: bool = False,
    patience_s: float | None = None,
) -> Callable[[Callable[[ASGIApp, Contract], Callable[[Scope, Receive, Send], Awaitable[None]]]], Fault]:
    """Makes a function from an application to another one a fault: for what a server does beyond a single answer."""

    def make(function: Callable[[ASGIApp, Contract], Callable[[Scope, Receive, Send], Awaitable[None]]]) -> Fault:
        return Fault(
            name,
            said(function),
            fits,
            function,
            bugs=tuple(bugs),
            declares=declares,
            denies=denies,
            benign=benign,
            patience_s=patience_s,
        )

    return make


def choices_of(holder: Json) -> Iterator[Json]:
    """The choices of an answer or a chunk."""
    yield from holder.get("choices") or ()


def spoken(choice: Json) -> Json:
    """The message of a choice, or its delta."""
    part: Json = choice["message"] if "message" in choice else choice["delta"]
    return part


def said_by(
    name: str,
    edit: Callable[[Json, Told], object],
    line: str,
    *,
    plain: bool = True,
    streamed: bool = True,
    **options: Any,
) -> Fault:
    """A fault of every choice, in plain answers and in chunks, or in one kind of them only."""

    def change(holder: Json, told: Told) -> None:
        for choice in choices_of(holder):
            edit(choice, told)

    return at_seams(name, line, answer=change if plain else None, chunk=change if streamed else None, **options)


def held_by(
    name: str,
    edit: Callable[[Json, Told], object],
    line: str,
    *,
    plain: bool = True,
    streamed: bool = True,
    **options: Any,
) -> Fault:
    """A fault of the envelope of plain answers and of chunks, or of one kind of them only."""
    return at_seams(name, line, answer=edit if plain else None, chunk=edit if streamed else None, **options)


class OtherEngine:
    """An engine that is asked for something else than it was."""

    def __init__(self, engine: Engine, edit: Callable[[SamplingParams], SamplingParams]) -> None:
        self._engine = engine
        self._edit = edit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, prompt: list[int], params: SamplingParams) -> Generation:
        """As the engine's own, with other parameters."""
        return self._engine.submit(prompt, self._edit(params))


def sampled(
    name: str, *, bugs: Iterable[int] = (), fits: Callable[[Contract], bool] = always
) -> Callable[[Callable[[SamplingParams], SamplingParams]], Fault]:
    """Makes a function over the engine's parameters a fault."""

    def make(function: Callable[[SamplingParams], SamplingParams]) -> Fault:
        def other(engine: Engine) -> Engine:
            return OtherEngine(engine, function)  # what is not here is the engine's own

        return Fault(name, said(function), fits, lambda app, _contract: app, other, bugs=tuple(bugs), shows="sampling")

    return make


__all__ = [
    "DONE",
    "FRAME_END",
    "Fault",
    "Faulty",
    "Head",
    "Json",
    "OtherEngine",
    "Refused",
    "Reply",
    "Seams",
    "Told",
    "always",
    "around",
    "at_seams",
    "choices_of",
    "demands",
    "fault",
    "held_by",
    "knows",
    "said_by",
    "sampled",
    "spoken",
]
