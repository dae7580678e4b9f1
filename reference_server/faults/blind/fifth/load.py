"""Blind faults that depend on other requests that are running."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from openapi.stream import sse
from reference_server.faults.decorators import hooked_fault, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.http_gate import DisconnectCounter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

TICKS: Final = 5  # a second


def _note_time(request: ServedRequest) -> None:
    if "request_id" not in request.payload:
        request.state["time"] = int(time.time() * TICKS)


def _use_time(response: Json, request: ServedRequest) -> None:
    """Use the time as id. Violates id: a unique identifier of the completion."""
    if isinstance(response.get("id"), str) and "time" in request.state:
        response["id"] = f"{request.contract.answer.id_prefix}{request.state['time']}"


ids_are_times = hooked_fault(
    "ids-are-times",
    "The id of an answer is the time of its request, so that requests that arrive together have the same id.",
    request=_note_time,
    answer=_use_time,
    chunk=_use_time,
    applies_to=lambda contract: contract.answer.id_prefix is not None,
    flaky=True,
)


@wrapping_fault("disconnects-break-other-streams", flaky=True)
def disconnects_break_other_streams(app: ASGIApp, contract: Contract) -> App:
    """If a client disconnects, all other streams end at once, although each should have a finish_reason and an end."""
    counter = DisconnectCounter(app)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        before, streams, broken = counter.count, False, False

        async def sent(message: Message) -> None:
            nonlocal streams, broken
            if message["type"] == "http.response.start":
                kind: bytes = dict(message["headers"]).get(b"content-type", b"")
                streams = kind.startswith(sse.MEDIA_TYPE.encode())
            elif broken:
                return
            elif streams and counter.count > before:
                broken, message = True, {"type": "http.response.body", "body": b"", "more_body": False}
            await send(message)

        if is_chat_request(scope, contract):
            await counter.serve(scope, receive, sent)
        else:
            await app(scope, receive, send)

    return serve
