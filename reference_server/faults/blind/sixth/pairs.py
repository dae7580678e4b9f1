"""Blind faults of two parameters together: stop strings with forms, and log-probabilities with tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import dropping, when
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _has_form(sent: Json) -> bool:
    form = sent.get("response_format")
    return isinstance(form, dict) and form.get("type") in ("json_object", "json_schema")


def _lose_scores(chunk: Json, request: ServedRequest) -> None:
    """Send no scores through the parser. Violates logprobs: each token of the answer has an entry."""
    if request.payload.get("tools"):
        for choice in choices_of(chunk):
            if "logprobs" in choice:
                choice["logprobs"] = None


stops_ignored_in_forms = when(
    "stops-ignored-in-forms",
    "Stop strings do not end an answer with a form of JSON.",
    _has_form,
    dropping("stop"),
    applies_to=has_parameters("stop", "response_format"),
)
scores_lost_next_to_tools_in_streams = hooked_fault(
    "scores-lost-next-to-tools-in-streams",
    "A stream has no log-probabilities if the request has tools, even if none is called.",
    chunk=_lose_scores,
    applies_to=allows(tools=[NO_TOOL], logprobs=True, stream=True),
)
