"""Blind faults of log-probabilities: tokens that are unlikely, and tokens whose text is held back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.score_recipes import scored_choices
from reference_server.faults.blind.thought_recipes import thoughts_of
from reference_server.faults.decorators import has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

LEAST: Final = -10.0


def _write_nulls(response: Json, _request: ServedRequest) -> None:
    """Have no number for what is next to impossible. Violates top_logprobs.logprob: a number."""
    for _, entries in scored_choices(response):
        for entry in entries:
            for alternative in entry.get("top_logprobs") or ():
                if alternative["logprob"] < LEAST:
                    alternative["logprob"] = None


def _score_texts(chunk: Json, _request: ServedRequest) -> None:
    """Score what is sent. Violates logprobs: those of all tokens."""
    for choice, _ in scored_choices(chunk):
        said = message_of(choice)
        if not said.get("content") and not said.get("tool_calls") and thoughts_of(said) is None:
            choice["logprobs"] = None


unlikely_alternatives_score_null = hooked_fault(
    "unlikely-alternatives-score-null",
    "The log-probability of an alternative is null if it is below -10.",
    answer=_write_nulls,
    chunk=_write_nulls,
    applies_to=has_parameters("top_logprobs"),
)
scores_of_held_tokens_lost = hooked_fault(
    "scores-of-held-tokens-lost",
    "Streams lack the log-probabilities of tokens whose text comes later, such as the parts of a character.",
    chunk=_score_texts,
    applies_to=has_parameters("logprobs"),
)
