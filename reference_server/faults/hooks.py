"""Hooks: the places at which a fault changes a request or a response, as functions over plain data.

The request can be changed before the server reads it; answers, chunks, events, response heads and refusals before they
are sent. The middleware in `fault_middleware` calls the hooks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from starlette.responses import Response

from openapi.stream import sse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from starlette.types import Receive, Scope, Send

    from openapi.contract.contract import Contract

Json = dict[str, Any]
Affects = Literal["requests", "sampling", "answers", "refusals", "anywhere"]
DATA: Final = b"data: "
DONE: Final = b"data: [DONE]\n\n"
FRAME_END: Final = b"\n\n"


@dataclass(slots=True)
class ServedRequest:
    """One request as the client sent it, and the state that a fault keeps for it.

    payload: the JSON object in the body; empty if the body is not a JSON object.
    """

    contract: Contract
    method: str
    path: str
    body: bytes
    payload: Json
    state: Json = field(default_factory=dict)
    event_index: int = -1  # index of the current event of the answer


@dataclass(slots=True)
class ResponseHead:
    """Status and headers of a response. Header names are in lower case."""

    status: int
    headers: dict[str, str]

    @property
    def streams(self) -> bool:
        """Whether the body is an event stream."""
        return self.headers.get("content-type", "").startswith(sse.MEDIA_TYPE)


@dataclass(frozen=True, slots=True)
class CannedResponse:
    """A response that a fault sends instead of the server's."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await Response(self.body, self.status, dict(self.headers), self.content_type)(scope, receive, send)


class Refusal(Exception):
    """Raised by a hook to refuse a request. kind: a row of the dialect's error table."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


@dataclass(frozen=True, slots=True)
class Hooks:
    """The functions of one fault. Data are edited in place; bytes and events are returned.

    body: the body of any answer, plain or streamed. plain: the body of plain answers only. pieces: splits what would be
    sent at once. everywhere: also call the hooks on paths other than the chat endpoint.
    """

    request: Callable[[ServedRequest], CannedResponse | None] | None = None
    head: Callable[[ResponseHead, ServedRequest], None] | None = None
    answer: Callable[[Json, ServedRequest], None] | None = None
    body: Callable[[bytes, ServedRequest], bytes] | None = None
    plain: Callable[[bytes, ServedRequest], bytes] | None = None
    chunk: Callable[[Json, ServedRequest], None] | None = None
    event: Callable[[bytes, ServedRequest], Iterable[bytes]] | None = None
    refusal: Callable[[ResponseHead, Any, ServedRequest], Any] | None = None
    pieces: Callable[[bytes, ServedRequest], AsyncIterator[bytes]] | None = None
    everywhere: bool = False

    @property
    def affects(self) -> Affects:
        """What the hooks change."""
        if self.everywhere or self.head is not None:
            return "anywhere"
        if self.request is not None:
            return "requests"
        in_answers = (self.answer, self.body, self.plain, self.chunk, self.event, self.pieces)
        if self.refusal is None:
            return "answers"
        return "anywhere" if any(answer is not None for answer in in_answers) else "refusals"
