"""Blind faults of HTTP and of the ends of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import choices_of, hooked_fault, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.http_gate import header_of, refuse_matching

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]


@wrapping_fault("charsets-refused")
def charsets_are_refused(app: ASGIApp, contract: Contract) -> App:
    """A request whose Content-Type has a charset gets a 415."""

    def matches(scope: Scope) -> bool:
        return is_chat_request(scope, contract) and b"charset" in header_of(scope, b"content-type").lower()

    return refuse_matching(app, contract, matches, 415)


@wrapping_fault("chunked-requests-refused")
def chunked_requests_are_refused(app: ASGIApp, contract: Contract) -> App:
    """A request with a chunked body gets a 400, as if its body were empty."""

    def matches(scope: Scope) -> bool:
        return is_chat_request(scope, contract) and b"chunked" in header_of(scope, b"transfer-encoding").lower()

    return refuse_matching(app, contract, matches, 400)


def _forget_ends(chunk: Json, request: ServedRequest) -> None:
    for choice in choices_of(chunk) if (request.payload.get("n") or 1) == 1 else ():
        if choice.get("finish_reason") == "stop":
            choice["finish_reason"] = None


natural_ends_untold_in_streams = hooked_fault(
    "natural-ends-untold-in-streams",
    "A stream that ends on its own or with a stop string has no finish_reason.",
    chunk=_forget_ends,
)
