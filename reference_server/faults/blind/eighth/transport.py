"""Blind faults of HTTP: long events, and clients that are taken for robots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.gateway_recipes import forbidden
from reference_server.faults.decorators import hooked_fault, wrapping_fault

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ServedRequest

LONGEST_EVENT: Final = 1_200  # bytes
LIBRARIES: Final = (b"openai/", b"asyncopenai/", b"python-", b"aiohttp/")


def _drop_long_events(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Read lines into a buffer of fixed size. Violates stream: the deltas are the whole answer."""
    if len(frame) <= LONGEST_EVENT:
        yield frame


@wrapping_fault("clients-of-libraries-forbidden")
def clients_of_libraries_forbidden(
    app: ASGIApp, _contract: Contract
) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """A firewall answers requests with the User-Agent of a Python client with 403 and a page."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        agents = [value.lower() for name, value in scope.get("headers", ()) if name.lower() == b"user-agent"]
        known = any(agent.startswith(LIBRARIES) for agent in agents)
        await (forbidden() if known else app)(scope, receive, send)

    return serve


long_events_lost = hooked_fault(
    "long-events-lost", "Events of a stream with more than 1,200 bytes are lost.", event=_drop_long_events
)
