"""Variations of answers: ids and lists of calls, details of the usage, and media types."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import choices_of, has_parameters, message_of, variation

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

NUMBERS: Final = 9_000_000
FIRST: Final = 1_000_000
PROMPT_DETAILS: Final = ("cached_tokens", "audio_tokens")
ANSWER_DETAILS: Final = ("reasoning_tokens", "audio_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens")


def _capitalise(head: ResponseHead, _request: ServedRequest) -> None:
    kind = head.headers.get("content-type", "").partition(";")[0]
    head.headers["content-type"] = f'{kind.title()}; Charset="UTF-8"'


def _number_calls(response: Json, request: ServedRequest) -> None:
    numbers: dict[str, str] = request.state.setdefault("numbers", {})
    for choice in choices_of(response):
        for call in message_of(choice).get("tool_calls") or ():
            if call.get("id"):
                number = f"call_{FIRST + secrets.randbelow(NUMBERS)}"
                call["id"] = numbers.setdefault(call["id"], number)


def _list_no_calls(response: Json, _request: ServedRequest) -> None:
    for choice in choices_of(response):
        message_of(choice).setdefault("tool_calls", [])


def _add_zeros(response: Json, _request: ServedRequest) -> None:
    usage = response.get("usage")
    if isinstance(usage, dict):
        for field, names in (("prompt_tokens_details", PROMPT_DETAILS), ("completion_tokens_details", ANSWER_DETAILS)):
            usage[field] = {**dict.fromkeys(names, 0), **(usage.get(field) or {})}


def _has_calls_only(contract: Contract) -> bool:
    """Apply to dialects with tools and without times of single tokens."""
    return has_parameters("tools")(contract) and not contract.answer.timings


def _is_openai(contract: Contract) -> bool:
    """Apply to dialects whose document has these details."""
    return {"top_logprobs", "service_tier"} <= set(contract.parameters)


media_types_in_capitals = variation(
    "media-types-in-capitals",
    "The media types of responses have capitals, and a character set in quotes.",
    head=_capitalise,
)
call_ids_of_digits = variation(
    "call-ids-of-digits",
    "The id of a call is `call_` and seven digits.",
    answer=_number_calls,
    chunk=_number_calls,
    applies_to=_has_calls_only,
)
empty_call_lists = variation(
    "empty-call-lists",
    "Messages and deltas without calls have an empty list of calls.",
    answer=_list_no_calls,
    chunk=_list_no_calls,
    applies_to=_has_calls_only,
)
details_of_zeros = variation(
    "details-of-zeros",
    "The usage has all details, of which most are 0.",
    answer=_add_zeros,
    chunk=_add_zeros,
    applies_to=_is_openai,
)
