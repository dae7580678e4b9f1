"""Blind faults of log-probabilities: which alternatives they list, their bytes, and the chunk that they are in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_number
from reference_server.faults.blind.score_recipes import all_entries, scored_choices
from reference_server.faults.blind.thought_recipes import thoughts_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

MOST_OF_ALL: Final = 0.999


def _list_code_points(response: Json, _request: ServedRequest) -> None:
    """Count characters. Violates logprobs.bytes: the token in UTF-8."""
    for entry in all_entries(response):
        if isinstance(entry.get("bytes"), list) and entry.get("token"):
            entry["bytes"] = [ord(character) for character in entry["token"]]


def _list_nucleus(response: Json, request: ServedRequest) -> None:
    """List only what may be sampled. Violates top_logprobs: the number of most likely tokens."""
    share = request.payload.get("top_p")
    if not (is_number(share, 0.01, MOST_OF_ALL) and isinstance(share, (int, float))):
        return
    for _, entries in scored_choices(response):
        for entry in entries:
            total, kept = 0.0, []
            for alternative in entry.get("top_logprobs") or ():
                if total < share:
                    kept.append(alternative)
                total += math.exp(alternative["logprob"])
            entry["top_logprobs"] = kept


def _delay_scores(chunk: Json, request: ServedRequest) -> None:
    """Send scores a chunk late. Violates logprobs.content: the tokens of the chunk's text."""
    for choice in choices_of(chunk):
        if "logprobs" in choice and (choice.get("logprobs") or "late" in request.state):
            late, request.state["late"] = request.state.get("late"), choice["logprobs"]
            choice["logprobs"] = late


def _lose_scores_of_thoughts(chunk: Json, _request: ServedRequest) -> None:
    """Send null with reasoning. Violates logprobs: each token of the answer has an entry."""
    for choice in choices_of(chunk):
        if thoughts_of(message_of(choice)) and "logprobs" in choice:
            choice["logprobs"] = None


bytes_are_code_points = hooked_fault(
    "bytes-are-code-points",
    "The bytes of a token are the numbers of its characters in Unicode.",
    answer=_list_code_points,
    chunk=_list_code_points,
    applies_to=allows(logprobs=True, top_logprobs=20),
)
alternatives_outside_the_nucleus_unlisted = hooked_fault(
    "alternatives-outside-the-nucleus-unlisted",
    "With top_p below 1, only the most likely tokens that reach it are listed.",
    answer=_list_nucleus,
    chunk=_list_nucleus,
    applies_to=allows(logprobs=True, top_logprobs=5, top_p=0.5),
)
scores_lag_a_chunk = hooked_fault(
    "scores-lag-a-chunk",
    "The log-probabilities of a chunk are those of the chunk before it.",
    chunk=_delay_scores,
    applies_to=allows(logprobs=True, stream=True),
)
streamed_thoughts_lose_scores = hooked_fault(
    "streamed-thoughts-lose-scores",
    "Chunks with reasoning have no log-probabilities.",
    chunk=_lose_scores_of_thoughts,
    applies_to=has_parameters("chat_template_kwargs", "logprobs"),
)
