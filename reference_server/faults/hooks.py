"""Seams: the few places where a fault takes hold; all but the engine's lie around the application.

What was asked can be changed before it is read; answers, chunks, events, heads and refusals before they are sent: a
fault is a function over plain data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from openapi.stream import sse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from starlette.types import Receive, Scope, Send

    from openapi.contract.contract import Contract
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
        return "anywhere" if any(answer is not None for answer in in_answers) else "refusals"
