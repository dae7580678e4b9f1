"""Blind faults of refusals: those of streams, and those of schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from openapi.stream import sse
from reference_server.faults.blind.schema_recipes import form_schema_of
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import ResponseHead, ServedRequest

ACCEPTED = 200
INVALID = (400, 422)
FAILED = 500


def _refuse_in_stream(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """Start the stream first. Violates the status of a refusal."""
    if request.payload.get("stream") is not True or head.status not in INVALID:
        return body
    head.status = ACCEPTED
    head.headers["content-type"] = sse.MEDIA_TYPE
    return sse.encode(orjson.dumps(body)) + b"data: [DONE]\n\n"


def _fail_for_schemas(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """Report a failure. Violates the status of a refusal, which says whether to try again."""
    if head.status in INVALID and form_schema_of(request.payload) is not None:
        head.status = FAILED
    return body


streamed_refusals_are_events = hooked_fault(
    "streamed-refusals-are-events",
    "An invalid request with stream is answered with 200 and an event with the error.",
    refusal=_refuse_in_stream,
)
invalid_schemas_are_failures = hooked_fault(
    "invalid-schemas-are-failures",
    "An invalid request with a JSON schema is answered with 500.",
    refusal=_fail_for_schemas,
    applies_to=has_parameters("response_format"),
)
