"""Blind faults of HTTP: the media type of a request with its character set, and that of plain answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import hooked_fault, wrapping_fault
from reference_server.faults.http_gate import header_of, refuse_matching

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ResponseHead, ServedRequest

UNSUPPORTED = 415


@wrapping_fault("character-sets-refused")
def character_sets_refused(app: ASGIApp, contract: Contract) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """Requests with the media type `application/json; charset=utf-8` are refused with 415."""
    return refuse_matching(
        app, contract, lambda scope: b"charset" in header_of(scope, b"content-type").lower(), UNSUPPORTED
    )


def _type_as_text(head: ResponseHead, _request: ServedRequest) -> None:
    """Call JSON text. Violates the media type of answers: application/json."""
    if not head.streams:
        head.headers["content-type"] = "text/plain; charset=utf-8"


plain_answers_typed_as_text = hooked_fault(
    "plain-answers-typed-as-text", "The media type of plain answers is text/plain.", head=_type_as_text
)
