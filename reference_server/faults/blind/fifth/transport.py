"""Blind faults of content negotiation, and of the order and the end of what is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from reference_server.faults.decorators import hooked_fault, wrapping_fault
from reference_server.faults.fault_middleware import (
    is_chat_request,
    parse_object,
    read_body,
    replay_body,
    with_length,
)
from reference_server.faults.hooks import DATA, DONE
from reference_server.faults.http_gate import header_of, refuse_matching

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ResponseHead, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

STREAMS: Final = b"text/event-stream"
HELD_PIECE: Final = 4


@wrapping_fault("accept-of-streams-refused")
def accept_of_streams_is_refused(app: ASGIApp, contract: Contract) -> App:
    """A request that accepts only text/event-stream gets a 406, although that is the media type of its stream."""

    def matches(scope: Scope) -> bool:
        return is_chat_request(scope, contract) and header_of(scope, b"accept").strip().lower() == STREAMS

    return refuse_matching(app, contract, matches, 406)


@wrapping_fault("accept-forces-streams")
def accept_forces_streams(app: ASGIApp, contract: Contract) -> App:
    """A request that accepts text/event-stream gets a stream, although `stream` is absent or false."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract) or STREAMS not in header_of(scope, b"accept").lower():
            await app(scope, receive, send)
            return
        body = await read_body(receive)
        sent = parse_object(body)
        if sent and sent.get("stream") in (None, False):
            body = orjson.dumps({**sent, "stream": True})
            scope = with_length(scope, len(body))
        await app(scope, replay_body(body, receive), send)

    return serve


def _is_unstated(request: ServedRequest) -> bool:
    """Whether `stream` is absent. An event in the answer violates stream: its default is false."""
    return bool(request.payload) and "stream" not in request.payload


def _add_done(body: bytes, request: ServedRequest) -> bytes:
    return body + b"\n\n" + DONE if _is_unstated(request) else body


def _call_it_stream(head: ResponseHead, request: ServedRequest) -> None:
    if _is_unstated(request) and head.status == 200:
        head.headers["content-type"] = "text/event-stream; charset=utf-8"


def _has_text(frame: bytes) -> bool:
    choices = parse_object(frame.removeprefix(DATA)).get("choices") or []
    plain = len(choices) == 1 and not choices[0].get("finish_reason")
    return bool(plain and (choices[0].get("delta") or {}).get("content"))


def _overtake(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Swap two chunks. Violates delta.content: the pieces make up the answer in their order."""
    state, has_text = request.state, _has_text(frame)
    state["pieces"] = state.get("pieces", 0) + has_text
    held: bytes | None = state.pop("held", None)
    if held is not None:
        yield from (frame, held) if has_text else (held, frame)
    elif has_text and state["pieces"] == HELD_PIECE:
        state["held"] = frame
    else:
        yield frame


unstated_streams_end_with_done = hooked_fault(
    "unstated-streams-end-with-done",
    "A plain answer to a request without `stream` is called a stream, and `data: [DONE]` follows it.",
    plain=_add_done,
    head=_call_it_stream,
)
pieces_overtake_each_other = hooked_fault(
    "pieces-overtake-each-other",
    "In streams, the fourth piece of text is sent after the fifth.",
    event=_overtake,
)
