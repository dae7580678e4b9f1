"""Blind faults of refusals: those of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openapi.stream import sse
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import ResponseHead, ServedRequest

LEAST_ERROR: Final = 400


def _call_it_a_stream(head: ResponseHead, request: ServedRequest) -> None:
    """Write the headers before the request is checked. Violates Content-Type: the type of the body, which is JSON."""
    if head.status >= LEAST_ERROR and request.payload.get("stream") is True:
        head.headers["content-type"] = sse.MEDIA_TYPE


refused_streams_have_the_type_of_streams = hooked_fault(
    "refused-streams-have-the-type-of-streams",
    "A refusal of a request for a stream is JSON with the Content-Type of an event stream.",
    head=_call_it_a_stream,
)
