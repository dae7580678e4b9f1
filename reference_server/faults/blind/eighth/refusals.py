"""Blind faults of refusals: the form of their messages, and the status of wrong keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.body_recipes import editing_messages
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ResponseHead, ServedRequest

UNAUTHORIZED: Final = 401
FAILED: Final = 500


def _list_problems(message: str) -> Any:
    """Return a list. Violates the message of an error, which is a string."""
    return [{"type": "value_error", "loc": ["body"], "msg": message}]


def _fail_for_keys(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """Raise an exception for a wrong key. Violates the status of a refusal, which says that the key is wrong."""
    head.status = FAILED if head.status == UNAUTHORIZED else head.status
    return body


def _has_keys(contract: Contract) -> bool:
    return contract.auth == "bearer"


messages_of_refusals_are_lists = hooked_fault(
    "messages-of-refusals-are-lists",
    "The message of a refusal is a list of problems.",
    refusal=editing_messages(_list_problems),
)
wrong_keys_are_failures = hooked_fault(
    "wrong-keys-are-failures",
    "A request with a wrong key gets a 500.",
    refusal=_fail_for_keys,
    applies_to=_has_keys,
)
