"""Blind faults of log-probabilities: their numbers, their bytes, and those of chunks with several tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_number
from reference_server.faults.blind.score_recipes import all_entries, scored_choices
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

REPLACEMENT: Final = "\ufffd"
HOTTEST: Final = 2.0
LOWEST: Final = -9999.0


def _replace_partial_bytes(response: Json, _request: ServedRequest) -> None:
    """Encode the replacement character. Violates logprobs.bytes: the bytes of the token."""
    for entry in all_entries(response):
        if isinstance(entry.get("bytes"), list) and REPLACEMENT in entry.get("token", ""):
            entry["bytes"] = list(entry["token"].encode())


def _divide_by_temperature(response: Json, request: ServedRequest) -> None:
    """Scale probabilities, not logits. Violates logprob: the logarithm of a probability."""
    temperature = request.payload.get("temperature")
    if is_number(temperature, 0.01, HOTTEST) and isinstance(temperature, (int, float)):
        for entry in all_entries(response):
            entry["logprob"] = max(entry["logprob"] / temperature, LOWEST)


def _copy_first_alternatives(chunk: Json, _request: ServedRequest) -> None:
    """Reuse one list. Violates top_logprobs: the likely tokens at this position."""
    for _, entries in scored_choices(chunk):
        for entry in entries[1:]:
            entry["top_logprobs"] = entries[0].get("top_logprobs")


def _lose_scores_of_calls(chunk: Json, _request: ServedRequest) -> None:
    """Send null with calls. Violates logprobs: each token of the answer has an entry."""
    for choice in choices_of(chunk):
        if message_of(choice).get("tool_calls") and "logprobs" in choice:
            choice["logprobs"] = None


partial_bytes_are_replacements = hooked_fault(
    "partial-bytes-are-replacements",
    "The bytes of a token that is a part of a character are those of the replacement character.",
    answer=_replace_partial_bytes,
    chunk=_replace_partial_bytes,
    applies_to=allows(logprobs=True, top_logprobs=20),
)
scores_divided_by_temperature = hooked_fault(
    "scores-divided-by-temperature",
    "Log-probabilities are divided by the temperature, so that they are not those of probabilities.",
    answer=_divide_by_temperature,
    chunk=_divide_by_temperature,
    applies_to=allows(logprobs=True, temperature=1.5),
)
first_alternatives_for_a_whole_chunk = hooked_fault(
    "first-alternatives-for-a-whole-chunk",
    "In a chunk with several tokens, each has the most likely tokens of the first one.",
    chunk=_copy_first_alternatives,
    applies_to=has_parameters("top_logprobs", "stream_interval"),
)
streamed_calls_lose_scores = hooked_fault(
    "streamed-calls-lose-scores",
    "Chunks with parts of calls have no log-probabilities.",
    chunk=_lose_scores_of_calls,
    applies_to=allows(tools=[NO_TOOL], logprobs=True, stream=True),
)
