"""Blind faults of HTTP: media types in capitals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.http_gate import header_of, refuse_matching

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Scope

    from openapi.contract.contract import Contract
    from reference_server.faults.http_gate import App

UNSUPPORTED: Final = 415


@wrapping_fault("media-types-in-capitals-refused")
def media_types_in_capitals_refused(app: ASGIApp, contract: Contract) -> App:
    """A request whose media type has capitals, such as Application/JSON, is refused with 415."""

    def has_capitals(scope: Scope) -> bool:
        if scope["type"] != "http" or not is_chat_request(scope, contract):
            return False
        media_type = header_of(scope, b"content-type").partition(b";")[0]
        return media_type != media_type.lower()

    return refuse_matching(app, contract, has_capitals, UNSUPPORTED)
