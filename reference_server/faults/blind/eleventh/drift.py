"""Blind faults that show now and then: plain answers that are streams, and limits that are exceeded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import every, is_whole, per_server
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

STREAMED_EVERY: Final = 7
UNLIMITED_EVERY: Final = 6
LIMITS: Final = ("max_tokens", "max_completion_tokens")
MOST_TOKENS: Final = 512
FURTHER_TOKENS: Final = 16


def _make_streams() -> Hooks:
    """Send a plain answer like a stream. Violates stream: false means one JSON object."""
    is_turn = every(STREAMED_EVERY)

    def stream(request: ServedRequest) -> None:
        if not request.payload.get("stream") and is_turn():
            request.payload["stream"] = True

    return Hooks(request=stream)


def _make_excess() -> Hooks:
    """Check the limit in a group of steps. Violates max_tokens: the greatest number of generated tokens."""
    is_turn = every(UNLIMITED_EVERY)

    def exceed(request: ServedRequest) -> None:
        named = [name for name in LIMITS if is_whole(request.payload.get(name), 1, MOST_TOKENS)]
        for name in named if named and is_turn() else ():
            request.payload[name] += FURTHER_TOKENS

    return Hooks(request=exceed)


plain_answers_streamed_now_and_then = per_server(
    "plain-answers-streamed-now-and-then", "Every seventh plain request is answered with a stream.", _make_streams
)
limits_exceeded_now_and_then = per_server(
    "limits-exceeded-now-and-then",
    "Every sixth answer may have 16 tokens more than its limit.",
    _make_excess,
)
