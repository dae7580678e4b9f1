"""Blind faults that show now and then: answers of other requests, and clocks that stand still."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import every, per_server
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

STALE_EVERY: Final = 7


def _make_stale() -> Hooks:
    """Send the buffer of the request before it. Violates choices: the answer to this request."""
    is_turn = every(STALE_EVERY)
    latest: list[Any] = []

    def swap(answer: Json, _request: ServedRequest) -> None:
        fresh = copy.deepcopy(answer.get("choices"))
        if is_turn() and latest:
            answer["choices"] = latest[-1]
        latest[:] = [fresh]

    return Hooks(answer=swap)


def _make_still() -> Hooks:
    """Read the clock once. Violates created: the time of the answer."""
    first: list[int] = []

    def stop(response: Json, _request: ServedRequest) -> None:
        if isinstance(response.get("created"), int):
            first[:] = first or [response["created"]]
            response["created"] = first[0]

    return Hooks(answer=stop, chunk=stop)


every_seventh_answer_is_another_one = per_server(
    "every-seventh-answer-is-another-one",
    "The choices of every seventh plain answer are those of the answer before it.",
    _make_stale,
)
clocks_stand_still = per_server(
    "clocks-stand-still", "The time of each answer is that of the first answer of the server.", _make_still
)
