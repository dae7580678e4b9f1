"""Blind faults of refusals: their media type in streams, and an object that should be null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import ResponseHead, ServedRequest


def _type_as_stream(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """Choose the media type before the request is judged. Violates the error: a JSON body."""
    if request.payload.get("stream") is True:
        head.headers["content-type"] = "text/event-stream; charset=utf-8"
    return body


def _fill_result(_head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    """Write an empty result. Violates result: null."""
    return {**body, "result": {}} if isinstance(body, dict) and "result" in body else body


def _has_result(contract: Contract) -> bool:
    return "result" in contract.errors.body


streamed_refusals_typed_as_streams = hooked_fault(
    "streamed-refusals-typed-as-streams",
    "The refusal of a stream is JSON, but has the media type of a stream.",
    refusal=_type_as_stream,
)
results_of_refusals_are_objects = hooked_fault(
    "results-of-refusals-are-objects",
    "The result in a refusal is an empty object.",
    refusal=_fill_result,
    applies_to=_has_result,
)
