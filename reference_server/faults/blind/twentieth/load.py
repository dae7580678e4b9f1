"""Blind faults of concurrent requests: minimum lengths, usage, and stop strings of clients that have left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.frame_recipes import read_chunk
from reference_server.faults.blind.recipes import crowd_fault
from reference_server.faults.decorators import has_parameters, wrapping_fault
from reference_server.faults.fault_middleware import (
    FaultMiddleware,
    is_chat_request,
    parse_object,
    read_body,
    replay_body,
)
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import ServedRequest
    from reference_server.faults.http_gate import App


def _lose_least_lengths(crowd: Crowd) -> Hooks:
    """Update the state of one request of a batch. Violates min_tokens, which applies to each request."""

    def lose(request: ServedRequest) -> None:
        if crowd.others(request):
            request.payload.pop("min_tokens", None)

    return Hooks(request=lose)


def _lose_usage(crowd: Crowd) -> Hooks:
    """Close a stream before its counts arrive. Violates include_usage: a chunk with usage."""

    def note(request: ServedRequest) -> None:
        request.state["crowded"] = any(sent.get("stream") is True for sent in crowd.others(request))

    def lose(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
        chunk = read_chunk(frame)
        if not (request.state.get("crowded") and chunk.get("usage") and not chunk.get("choices")):
            yield frame

    return Hooks(request=note, event=lose)


@wrapping_fault("left-streams-leave-their-stops", flaky=True)
def left_streams_leave_their_stops(app: ASGIApp, contract: Contract) -> App:
    """The stop strings of a stream that its client has left apply to the next request, if this has none."""
    left: list[Any] = []

    def inherit(request: ServedRequest) -> None:
        if left:
            stops = left.pop()
            request.payload.setdefault("stop", stops)

    faulty = FaultMiddleware(app, contract, Hooks(request=inherit))

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_chat_request(scope, contract):
            await app(scope, receive, send)
            return
        body = await read_body(receive)
        sent = parse_object(body)
        stops = sent.get("stop") if sent.get("stream") is True else None
        is_over = False

        async def receive_and_note() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect" and stops and not is_over:
                left[:] = [stops]
            return message

        async def send_and_note(message: Message) -> None:
            nonlocal is_over
            is_over = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        await faulty(scope, replay_body(body, receive_and_note), send_and_note)

    return serve


min_tokens_lost_in_crowds = crowd_fault(
    "min-tokens-lost-in-crowds",
    "A min_tokens has no effect while another request is running.",
    _lose_least_lengths,
    applies_to=has_parameters("min_tokens"),
)
crowded_streams_lack_usage = crowd_fault(
    "crowded-streams-lack-usage",
    "A stream that begins while another one is running has no chunk with usage.",
    _lose_usage,
    applies_to=has_parameters("stream_options"),
)
