"""Variations of answers: ids of calls, further fields and headers, pieces that grow, and another model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.frame_recipes import merging_text, replacing_call_ids
from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.validity import has_own_ids
from reference_server.faults.decorators import choices_of, has_parameters, message_of, variation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

PROTOCOLS: Final = {
    "alt-svc": 'h3=":443"; ma=86400',
    "nel": '{"report_to":"edge","max_age":604800}',
    "report-to": '{"group":"edge","max_age":604800,"endpoints":[{"url":"https://reports.example/"}]}',
}
MOST_DOUBLINGS: Final = 4


def _like_answer(call_id: str) -> str:
    return f"chatcmpl-tool-{call_id.removeprefix('call_')}"


def _grow(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Yield one piece of text, then two in a chunk, then four, and so on."""
    sent = request.state.get("sent", 0)
    frames = list(merging_text(2**sent)(frame, request))
    request.state["sent"] = min(sent + bool(frames), MOST_DOUBLINGS)
    yield from frames


def _add_null_fields(response: Json, _request: ServedRequest) -> None:
    response["citations"] = None
    for choice in choices_of(response):
        message_of(choice)["provider_specific_fields"] = None


def _offer_protocols(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers |= PROTOCOLS


def _state_inner_error(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    inner = {"innererror": {"code": "UpstreamRejected", "status": head.status, "revised_prompt": None}}
    return {**body, **inner} if isinstance(body, dict) else body


name_like_answers = replacing_call_ids(_like_answer)

call_ids_like_answers = variation(
    "call-ids-like-answers",
    "Ids of calls begin like those of answers.",
    answer=name_like_answers,
    chunk=name_like_answers,
    applies_to=has_parameters("tools"),
)
pieces_of_text_grow = variation(
    "pieces-of-text-grow", "Chunks of text have more and more pieces, up to 16.", event=_grow
)
provider_fields_are_null = variation(
    "provider-fields-are-null",
    "Answers and their messages have fields of a gateway that are null.",
    answer=_add_null_fields,
    chunk=_add_null_fields,
    applies_to=has_own_ids,
)
protocols_offered_in_headers = variation(
    "protocols-offered-in-headers", "Headers offer another protocol and ask for reports.", head=_offer_protocols
)
refusals_with_inner_errors = variation(
    "refusals-with-inner-errors", "Refusals have an inner error next to the error.", refusal=_state_inner_error
)
model_after_a_phone_call = model_after(
    "model-after-a-phone-call",
    "The model answers after a conversation on the phone.",
    "Hello, this is Anna. Is Tom there?",
    "Tom is out. He comes back at six.",
    "Fine, I call again then.",
    "I will tell him. Goodbye, Anna.",
)
