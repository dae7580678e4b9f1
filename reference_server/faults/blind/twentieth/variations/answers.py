"""Variations of answers: escapes, ids, headers, further fields, and another model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.validity import has_own_ids
from reference_server.faults.decorators import choices_of, variation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

SLASH: Final = b"/"
ESCAPED: Final = b"\\/"
REPORTS: Final = {
    "reporting-endpoints": 'main="https://reports.example.com/main"',
    "nel": '{"report_to":"main","max_age":86400,"success_fraction":0.01}',
    "cross-origin-opener-policy": "same-origin-allow-popups",
    "x-envoy-attempt-count": "1",
}


def _escape_slashes(body: bytes, _request: ServedRequest) -> bytes:
    """Write JSON as PHP does. Slashes occur in the strings of JSON only."""
    return body.replace(SLASH, ESCAPED)


def _escape_slashes_of_events(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    yield _escape_slashes(frame, request)


def _put_model_in_ids(response: Json, _request: ServedRequest) -> None:
    if isinstance(response.get("id"), str) and isinstance(response.get("model"), str):
        response["id"] = f"{response['model']}@{response['id'][-16:]}:0"


def _state_reports(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers |= REPORTS


def _state_confidence(response: Json, _request: ServedRequest) -> None:
    for choice in choices_of(response):
        choice |= {"confidence": None, "safety": {"categories": [], "blocked": False}, "weight": 1.0}


def _number_chunks(chunk: Json, request: ServedRequest) -> None:
    number: Any = request.state.get("chunks", 0)
    request.state["chunks"] = number + 1
    chunk |= {"sequence_number": number, "elapsed_ms": number * 3}


slashes_escaped_in_json = variation(
    "slashes-escaped-in-json",
    "Slashes in the strings of answers and chunks are written as escapes.",
    plain=_escape_slashes,
    event=_escape_slashes_of_events,
)
ids_begin_with_the_model = variation(
    "ids-begin-with-the-model",
    "Ids of answers consist of the name of the model, a part of a number and an index.",
    answer=_put_model_in_ids,
    chunk=_put_model_in_ids,
    applies_to=has_own_ids,
)
reports_collected = variation(
    "reports-collected", "Headers name an address to which browsers report errors.", head=_state_reports
)
choices_with_confidence = variation(
    "choices-with-confidence",
    "Choices have a confidence, which is null, a weight and the result of a filter.",
    answer=_state_confidence,
    chunk=_state_confidence,
    applies_to=has_own_ids,
)
chunks_numbered = variation(
    "chunks-numbered",
    "Chunks have a number and the time since the first one.",
    chunk=_number_chunks,
    applies_to=has_own_ids,
)
model_after_a_visit = model_after(
    "model-after-a-visit",
    "The model answers after a conversation about a visit to a museum.",
    "Is the museum open today?",
    "Yes, from ten to six. It is closed on Monday.",
    "How much is a ticket?",
    "Eight euros.",
)
