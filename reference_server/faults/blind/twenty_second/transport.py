"""Blind faults of HTTP: the coding of plain answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.http_gate import edit_headers, header_of

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Scope

    from openapi.contract.contract import Contract
    from reference_server.faults.http_gate import App, Headers

CODING: Final = b"br"
PLAIN: Final = b"application/json"


@wrapping_fault("plain-answers-claim-brotli")
def plain_answers_claim_brotli(app: ASGIApp, contract: Contract) -> App:
    """For clients that accept br, plain answers have Content-Encoding br, but are not compressed."""

    def claim(scope: Scope, headers: Headers) -> Headers:
        codings = [coding.split(b";")[0].strip() for coding in header_of(scope, b"accept-encoding").split(b",")]
        is_plain = dict(headers).get(b"content-type", b"").startswith(PLAIN)
        is_hit = scope["path"] == contract.path and CODING in codings and is_plain
        kept = [pair for pair in headers if pair[0] != b"content-encoding"]
        return [*kept, (b"content-encoding", CODING)] if is_hit else headers

    return edit_headers(app, claim)
