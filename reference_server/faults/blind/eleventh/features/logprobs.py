"""Blind faults of log-probabilities: those of another choice, and positions and tokens of prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _share_scores(answer: Json, _request: ServedRequest) -> None:
    """Read the first row. Violates logprobs: those of the tokens of the choice."""
    choices = list(choices_of(answer))
    for choice in choices[1:]:
        if choice.get("logprobs") and choices[0].get("logprobs"):
            choice["logprobs"] = choices[0]["logprobs"]


def _drop_first_position(answer: Json, _request: ServedRequest) -> None:
    """Skip the position without a predecessor. Violates prompt_logprobs: an entry for each token."""
    if isinstance(answer.get("prompt_logprobs"), list):
        del answer["prompt_logprobs"][:1]


def _list_likeliest(answer: Json, request: ServedRequest) -> None:
    """List the likeliest tokens alone. Violates prompt_logprobs: the token of the prompt is listed too."""
    number = request.payload.get("prompt_logprobs")
    if isinstance(number, int) and number > 0 and isinstance(answer.get("prompt_logprobs"), list):
        answer["prompt_logprobs"] = [
            {token: scores for token, scores in position.items() if scores["rank"] <= number} if position else position
            for position in answer["prompt_logprobs"]
        ]


choices_share_scores = hooked_fault(
    "choices-share-scores",
    "In plain answers with several choices, all have the log-probabilities of the first one.",
    answer=_share_scores,
    applies_to=allows(n=2, logprobs=True),
)
prompt_scores_lack_their_first_position = hooked_fault(
    "prompt-scores-lack-their-first-position",
    "The list of a prompt's log-probabilities has no entry for the first token.",
    answer=_drop_first_position,
    applies_to=has_parameters("prompt_logprobs"),
)
prompt_scores_lack_unlikely_tokens = hooked_fault(
    "prompt-scores-lack-unlikely-tokens",
    "A prompt's log-probabilities lack its own tokens where they are not among the likeliest.",
    answer=_list_likeliest,
    applies_to=has_parameters("prompt_logprobs"),
)
