"""Blind faults of refusals: values of a wrong type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import ResponseHead, ServedRequest

NUMBERS: Final = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "n", "seed")
UNPROCESSABLE: Final = 422
FAILURE: Final = 500


def _let_framework_answer(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """Validate types in front of the error handler. Violates errors: their status and their form."""
    wrong = [name for name in NUMBERS if isinstance(request.payload.get(name), (str, list, dict))]
    if head.status < FAILURE and wrong:
        head.status = UNPROCESSABLE
        return {
            "detail": [{"type": "float_parsing", "loc": ["body", name], "msg": "not a valid number"} for name in wrong]
        }
    return body


wrong_types_answered_by_the_framework = hooked_fault(
    "wrong-types-answered-by-the-framework",
    "A request with a string, a list or an object in place of a number gets the 422 of the web framework.",
    refusal=_let_framework_answer,
)
