"""Blind faults of concurrent requests: streams that end together, and reasoning that spills over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.frame_recipes import only_choice, read_chunk, write_chunk
from reference_server.faults.blind.recipes import crowd_fault, per_server
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import Json, ServedRequest

TEMPLATE: Final = "chat_template_kwargs"


def _end_together() -> Hooks:
    """Clear all slots at an end. Violates finish_reason: the model has not ended the other answers."""
    running: dict[int, Json] = {}

    def register(request: ServedRequest) -> None:
        if request.payload.get("stream") is True:
            running[id(request.state)] = request.state

    def send(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
        state = request.state
        chunk = read_chunk(frame)
        choice = only_choice(chunk)
        if choice is None:
            yield frame
        elif choice.get("finish_reason"):
            running.pop(id(state), None)
            for other in running.values():
                other["cut"] = True
            yield write_chunk({**chunk, "choices": [{**choice, "finish_reason": "stop"}]}) if "cut" in state else frame
        elif "cut" not in state:
            yield frame

    return Hooks(request=register, event=send)


def _share_thinking(crowd: Crowd) -> Hooks:
    """Keep a switch of the server. Violates chat_template_kwargs, which belongs to a request."""

    def share(request: ServedRequest) -> None:
        others = [sent[TEMPLATE] for sent in crowd.others(request) if isinstance(sent.get(TEMPLATE), dict)]
        if others and TEMPLATE not in request.payload:
            request.payload[TEMPLATE] = others[0]

    return Hooks(request=share)


streams_end_together = per_server(
    "streams-end-together",
    "As soon as a stream has ended, all other streams that are running have no further text, and end with stop.",
    _end_together,
    flaky=True,
)
thinking_spills_over = crowd_fault(
    "thinking-spills-over",
    "A request without chat_template_kwargs has those of another request that is running.",
    _share_thinking,
    applies_to=has_parameters(TEMPLATE),
)
