"""Blind faults of long requests and answers: many values to choose from, and many scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.schema_recipes import parts_of, schemas_of
from reference_server.faults.blind.score_recipes import scored_choices
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

MOST_VALUES: Final = 20
MOST_SCORES: Final = 32


def _forget_long_enumerations(request: ServedRequest) -> None:
    """Give up on large grammars. Violates the schemas of tools and response_format."""
    for schema in schemas_of(request.payload):
        for part in parts_of(schema):
            if isinstance(part.get("enum"), list) and len(part["enum"]) > MOST_VALUES:
                del part["enum"]
                part.setdefault("type", "string")


def _keep_first_scores(answer: Json, _request: ServedRequest) -> None:
    """Fill a buffer. Violates logprobs.content: an entry for each token."""
    for _, entries in scored_choices(answer):
        del entries[MOST_SCORES:]


long_enumerations_ignored = hooked_fault(
    "long-enumerations-ignored",
    "An enumeration of more than 20 values in the schema of a tool or of response_format is ignored.",
    request=_forget_long_enumerations,
    applies_to=has_parameters("response_format"),
)
scores_after_the_thirty_second_lost = hooked_fault(
    "scores-after-the-thirty-second-lost",
    "Plain answers have the log-probabilities of the first 32 tokens only.",
    answer=_keep_first_scores,
    applies_to=allows(logprobs=True),
)
