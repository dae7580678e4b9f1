"""Variations of answers: ranks, other names of counts, signatures, tabs, other protocols, and another model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.score_recipes import scored_choices
from reference_server.faults.blind.validity import has_own_ids
from reference_server.faults.decorators import choices_of, has_parameters, message_of, variation

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

PROTOCOLS: Final = {
    "alt-svc": 'h3=":443"; ma=86400',
    "strict-transport-security": "max-age=63072000; includeSubDomains",
    "nel": '{"report_to":"default","max_age":604800}',
}
SIGNATURE: Final = {"vendor": {"thought_signature": "CpUBAdHtim9vZGVyYXRlLXNpZ25hdHVyZQ=="}}


def _rank(response: Json, _request: ServedRequest) -> None:
    """Number the alternatives from the likeliest."""
    for _, entries in scored_choices(response):
        for entry in entries:
            for rank, alternative in enumerate(entry.get("top_logprobs") or (), 1):
                alternative["rank"] = rank


def _name_twice(response: Json, _request: ServedRequest) -> None:
    usage = response.get("usage")
    if isinstance(usage, dict):
        usage["input_tokens"] = usage["prompt_tokens"]
        usage["output_tokens"] = usage["completion_tokens"]


def _sign_calls(response: Json, _request: ServedRequest) -> None:
    for choice in choices_of(response):
        for call in message_of(choice).get("tool_calls") or ():
            if call.get("id"):
                call["extra_content"] = SIGNATURE


def _indent_with_tabs(body: bytes, _request: ServedRequest) -> bytes:
    return json.dumps(json.loads(body), indent="\t", ensure_ascii=False).encode()


def _announce(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers.update(PROTOCOLS)


alternatives_with_ranks = variation(
    "alternatives-with-ranks",
    "The alternatives of a token have their rank.",
    answer=_rank,
    chunk=_rank,
    applies_to=has_parameters("top_logprobs"),
)
counts_under_two_names = variation(
    "counts-under-two-names",
    "Usage also has the counts as input_tokens and output_tokens.",
    answer=_name_twice,
    chunk=_name_twice,
    applies_to=has_own_ids,
)
calls_with_signatures = variation(
    "calls-with-signatures",
    "Calls have a signature of the vendor.",
    answer=_sign_calls,
    chunk=_sign_calls,
    applies_to=has_parameters("tools"),
)
json_indented_with_tabs = variation(
    "json-indented-with-tabs", "Plain answers are indented with tabs.", plain=_indent_with_tabs
)
other_protocols_announced = variation(
    "other-protocols-announced", "Responses have headers about other protocols and reports.", head=_announce
)
model_after_a_speech = model_after(
    "model-after-a-speech",
    "The model answers after a conversation about a speech.",
    "I give a speech on Friday. How do I begin?",
    "Thank the people who came, and tell a short story.",
)
