"""Blind faults of refusals: lists of details, and keys that are refused without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ResponseHead, ServedRequest

BAD_REQUEST: Final = 400
UNAUTHORIZED: Final = 401
UNPROCESSABLE: Final = 422
DETAILS: Final = {"detail": [{"type": "value_error", "loc": ["body"], "msg": "Value error", "input": None}]}


def _list_details(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """Leave refusals to a framework. Violates the error: its status and its form."""
    if head.status not in (BAD_REQUEST, UNPROCESSABLE):
        return body
    head.status = UNPROCESSABLE
    return DETAILS


def _say_nothing(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """Check keys in a proxy. Violates the error: an object with a message."""
    return b"" if head.status == UNAUTHORIZED else body


def _checks_keys(contract: Contract) -> bool:
    return contract.auth == "bearer"


refusals_are_lists_of_details = hooked_fault(
    "refusals-are-lists-of-details",
    "An invalid request is refused with the status 422 and a list of details instead of the error.",
    refusal=_list_details,
)
refusals_of_keys_are_empty = hooked_fault(
    "refusals-of-keys-are-empty",
    "The refusal of a wrong key has an empty body.",
    refusal=_say_nothing,
    applies_to=_checks_keys,
)
