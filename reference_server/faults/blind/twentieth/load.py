"""Blind faults of concurrent requests: minimum lengths, usage, and stop strings of clients that have left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.frame_recipes import read_chunk
from reference_server.faults.blind.recipes import crowd_fault
from reference_server.faults.decorators import has_parameters, wrapping_fault
from reference_server.faults.fault_middleware import FaultMiddleware, parse_object
from reference_server.faults.hooks import Hooks
from reference_server.faults.http_gate import report_left

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp

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

    def note(body: bytes, _answer: bytes) -> None:
        sent = parse_object(body)
        if sent.get("stream") is True and sent.get("stop"):
            left[:] = [sent["stop"]]

    return report_left(FaultMiddleware(app, contract, Hooks(request=inherit)), contract, note)


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
