"""Faults in how `created` follows the time."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING

from reference_server.faults.decorators import envelope_fault, wrapping_fault
from reference_server.faults.fault_middleware import FaultMiddleware
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

SLOW_S = 0.4
"""How long each answer takes, so that many seconds pass in a few requests."""


@wrapping_fault("created-frozen", timeout_s=20)
def created_is_frozen(app: ASGIApp, contract: Contract) -> App:
    """`created` is the time at which the server started."""
    started = int(time.time())

    def freeze(response: Json, _request: ServedRequest) -> None:
        response["created"] = started

    frozen = FaultMiddleware(app, contract, Hooks(answer=freeze, chunk=freeze))

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await asyncio.sleep(SLOW_S)
        await frozen(scope, receive, send)

    return serve


def _backwards(response: Json, _request: ServedRequest) -> None:
    if "created" in response:
        response["created"] = int(2_000_000_000 - time.time() % 1_000 * 100)


def _random(response: Json, request: ServedRequest) -> None:
    if "created" in response:
        response["created"] = request.state.setdefault("created", int(time.time()) - random.randrange(600))


def _of_the_hour(response: Json, request: ServedRequest) -> None:
    if "created" in response:
        response["created"] = request.state.setdefault("created", int(time.time()) - len(request.body) % 60)


created_backwards = envelope_fault("created-backwards", _backwards, "`created` counts down.")
created_random = envelope_fault("created-random", _random, "`created` is some time within the last ten minutes.")
created_of_the_length = envelope_fault(
    "created-shifted", _of_the_hour, "`created` is earlier by as many seconds as the request is long."
)
