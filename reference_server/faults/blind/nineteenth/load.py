"""Blind faults of concurrent requests: invalid ones next to valid ones."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from openapi.description.validation import Validator
from reference_server.faults.blind.recipes import WINDOW_S, crowd_fault, fail
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest


def _fail_together(crowd: Crowd) -> Hooks:
    """Fail in the step of the whole batch. Violates the endpoint: each request has its own answer."""
    latest_s = [0.0]  # an invalid request that comes first is over before its neighbours are looked at
    validators: list[Validator] = []  # the one of the dialect, from the first request on

    def is_invalid(request: ServedRequest, sent: Json) -> bool:
        if not validators:
            validators.append(Validator(request.contract))
        return bool(sent) and bool(validators[0].request_problems(sent))

    def look(request: ServedRequest) -> CannedResponse | None:
        if is_invalid(request, request.payload):
            latest_s[0] = time.monotonic()
            return None
        is_next = time.monotonic() - latest_s[0] < WINDOW_S
        return fail(request) if is_next or any(is_invalid(request, sent) for sent in crowd.others(request)) else None

    return Hooks(request=look)


invalid_neighbours_fail_requests = crowd_fault(
    "invalid-neighbours-fail-requests",
    "A request gets a 500 if an invalid request arrives at the same time.",
    _fail_together,
)
