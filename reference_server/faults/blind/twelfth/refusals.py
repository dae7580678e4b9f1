"""Blind faults of refusals: another status for models, codes that are missing, and errors that are strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ResponseHead, ServedRequest

NOT_FOUND: Final = 404


def _blame_request(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """Say that the request is wrong. Violates the status for a model that does not exist."""
    if head.status != NOT_FOUND:
        return body
    head.status, refusal = request.contract.errors.render("invalid_request", "unknown model")
    return refusal


def _has_own_status(contract: Contract) -> bool:
    return contract.errors.kinds["unknown_model"].status == NOT_FOUND


def _drop_code(_head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """Send the words only. Violates code: how clients find out that a prompt is too long."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict) and error.get("code") == request.contract.errors.kinds["prompt_too_long"].code:
        error["code"] = None
    return body


def _has_code(contract: Contract) -> bool:
    return isinstance(contract.errors.kinds["prompt_too_long"].code, str)


def _send_string(_head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """Send errors of another API. Violates error: an object with a message."""
    error = body.get("error") if isinstance(body, dict) else None
    return {"error": error.get("message")} if isinstance(error, dict) else body


unknown_models_are_bad_requests = hooked_fault(
    "unknown-models-are-bad-requests",
    "A request with an unknown model gets the status 400.",
    refusal=_blame_request,
    applies_to=_has_own_status,
)
too_long_prompts_lack_their_code = hooked_fault(
    "too-long-prompts-lack-their-code",
    "The refusal of a prompt that is too long has no code.",
    refusal=_drop_code,
    applies_to=_has_code,
)
errors_are_strings = hooked_fault(
    "errors-are-strings",
    "The error of a refusal is its message instead of an object.",
    refusal=_send_string,
    applies_to=lambda contract: isinstance(contract.errors.body.get("error"), dict),
)
