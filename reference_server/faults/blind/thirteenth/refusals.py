"""Blind faults of refusals: whose error it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ResponseHead, ServedRequest

FAILURE: Final = 500


def _blame_server(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """Catch all exceptions in one place. Violates type: the request is invalid."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict) and "type" in error and head.status < FAILURE:
        error["type"] = "server_error"
    return body


def _has_types(contract: Contract) -> bool:
    error = contract.errors.body.get("error")
    return isinstance(error, dict) and "type" in error


refusals_blame_the_server = hooked_fault(
    "refusals-blame-the-server",
    "The type of the error in a refusal of an invalid request is server_error.",
    refusal=_blame_server,
    applies_to=_has_types,
)
