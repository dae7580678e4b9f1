"""Blind faults of HTTP: media types in capitals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.http_gate import chat_requests, header_of, refuse_matching

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Scope

    from openapi.contract.contract import Contract
    from reference_server.faults.http_gate import App

UNSUPPORTED: Final = 415


@wrapping_fault("capitals-in-media-types-refused")
def capitals_in_media_types_refused(app: ASGIApp, contract: Contract) -> App:
    """A request gets a 415 if the media type of its body has capitals."""
    is_chat = chat_requests(contract)

    def has_capitals(scope: Scope) -> bool:
        if scope["type"] != "http" or not is_chat(scope):
            return False
        media_type = header_of(scope, b"content-type").partition(b";")[0]
        return media_type != media_type.lower()

    return refuse_matching(app, contract, has_capitals, UNSUPPORTED)
