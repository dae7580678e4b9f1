"""Faults in log-probabilities next to parameters that forbid tokens, whose numbers may be infinite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import choice_fault, has_parameters, hooked_fault
from reference_server.faults.request_edits import failed

if TYPE_CHECKING:
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

FORMED = ("json_object", "json_schema")


def _fail_on_forms(request: ServedRequest) -> CannedResponse | None:
    form = request.payload.get("response_format")
    is_formed = isinstance(form, dict) and form.get("type") in FORMED
    return failed(request) if is_formed and request.payload.get("logprobs") is True else None


def _lose_last_alternatives(choice: Json, request: ServedRequest) -> None:
    """Write null for the least likely alternative, as JSON encoders do for an infinite number."""
    if request.payload.get("logit_bias"):
        for entry in (choice.get("logprobs") or {}).get("content") or ():
            for alternative in entry["top_logprobs"][-1:]:
                alternative["logprob"] = None


scores_next_to_forms_fail = hooked_fault(
    "scores-next-to-forms-500",
    "A request for log-probabilities and for JSON gets a 500.",
    request=_fail_on_forms,
    applies_to=has_parameters("logprobs", "response_format"),
)
scores_next_to_biases_null = choice_fault(
    "scores-next-to-biases-null",
    _lose_last_alternatives,
    "Next to a logit_bias the log-probability of the last alternative is null.",
    applies_to=has_parameters("logprobs", "logit_bias"),
)
