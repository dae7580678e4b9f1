"""Blind faults of concurrent requests: sampling that is greedy, and pieces of other streams."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import crowd_fault
from reference_server.faults.decorators import choices_of, message_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import Json, ServedRequest

FEW: Final = 3
MANY: Final = 4
SWAPPED_EVERY: Final = 7


def _choose_greedily(crowd: Crowd) -> Hooks:
    """Choose the likeliest token in a batch. Violates temperature: how tokens are sampled."""

    def choose(request: ServedRequest) -> None:
        one = request.payload.get("n") in (None, 1) and request.payload.get("best_of") in (None, 1)
        if crowd.size >= FEW and one:
            request.payload["temperature"] = 0

    return Hooks(request=choose)


def _swap_pieces(crowd: Crowd) -> Hooks:
    """Send a piece of another stream. Violates delta.content: the text of the answer."""
    latest: dict[str, str] = {}
    numbers = itertools.count(1)

    def swap(chunk: Json, _request: ServedRequest) -> None:
        for choice in choices_of(chunk):
            said = message_of(choice)
            piece = said.get("content")
            if not isinstance(piece, str) or not piece:
                continue
            if crowd.size >= MANY and next(numbers) % SWAPPED_EVERY == 0 and "piece" in latest:
                said["content"] = latest["piece"]
            latest["piece"] = piece

    return Hooks(chunk=swap)


crowds_sampled_greedily = crowd_fault(
    "crowds-sampled-greedily", "Three and more concurrent requests are answered greedily.", _choose_greedily
)
crowded_streams_swap_pieces = crowd_fault(
    "crowded-streams-swap-pieces",
    "With four and more concurrent requests, every seventh piece of the streams is the one before it, of any stream.",
    _swap_pieces,
)
