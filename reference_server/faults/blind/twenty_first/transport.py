"""Blind faults of HTTP: the scheme of a key, and bodies without a stated length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.hooks import CannedResponse
from reference_server.faults.http_gate import answer_matching, header_of, refuse_matching

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Scope

    from openapi.contract.contract import Contract
    from reference_server.faults.http_gate import App

SCHEME: Final = b"Bearer "
CHUNKED: Final = b"chunked"
INVALID: Final = 400


def _has_keys(contract: Contract) -> bool:
    return contract.auth == "bearer"


def _has_other_case(scope: Scope) -> bool:
    key = header_of(scope, b"authorization")
    return key.lower().startswith(SCHEME.lower()) and not key.startswith(SCHEME)


@wrapping_fault("lower-case-schemes-refused", applies_to=_has_keys)
def lower_case_schemes_refused(app: ASGIApp, contract: Contract) -> App:
    """A key whose scheme is written as bearer, in lower case, is refused."""
    status, body = contract.errors.render("unauthorized", "missing API key")
    return answer_matching(app, _has_other_case, CannedResponse(status, orjson.dumps(body)))


@wrapping_fault("chunked-requests-have-no-body")
def chunked_requests_have_no_body(app: ASGIApp, contract: Contract) -> App:
    """A request whose body is sent in chunks, without its length, is refused as invalid JSON."""

    def is_chunked(scope: Scope) -> bool:
        coding = header_of(scope, b"transfer-encoding").lower()
        return bool(scope["type"] == "http" and is_chat_request(scope, contract) and CHUNKED in coding)

    return refuse_matching(app, contract, is_chunked, INVALID)
