"""Blind faults that show now and then or drift: answers of other requests, and times that are too early."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import every, per_server
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

STALE_EVERY: Final = 7
HOUR_S: Final = 3_600


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


def _round_down(response: Json, _request: ServedRequest) -> None:
    """Read a clock that is set every hour. Violates created: the time of the answer in seconds."""
    if isinstance(response.get("created"), int):
        response["created"] -= response["created"] % HOUR_S


every_seventh_answer_is_another_one = per_server(
    "every-seventh-answer-is-another-one",
    "The choices of every seventh plain answer are those of the answer before it.",
    _make_stale,
)
times_of_the_last_hour = hooked_fault(
    "times-of-the-last-hour",
    "The time of each answer is the last full hour.",
    answer=_round_down,
    chunk=_round_down,
)
