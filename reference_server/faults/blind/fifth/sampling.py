"""Blind faults of penalties, of random numbers, and of limits with a draft model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_whole
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, sampling_fault

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

FIXED_SEED: Final = 0
DRAFT: Final = 4  # tokens
GREATEST: Final = 2**31 - 1
LIMITS: Final = ("max_tokens", "max_completion_tokens")


def _promises_random_seeds(contract: Contract) -> bool:
    """Apply to dialects with times of single tokens: their documents say that the server chooses a random seed."""
    return contract.answer.timings


@sampling_fault("frequencies-count-once", applies_to=has_parameters("frequency_penalty", "presence_penalty"))
def frequencies_count_once(params: SamplingParams) -> SamplingParams:
    """A frequency_penalty is subtracted once for each token, although it should grow with the token's frequency."""
    presence = params.presence_penalty + params.frequency_penalty
    return replace(params, presence_penalty=presence, frequency_penalty=0.0)


@sampling_fault("unseeded-samples-alike", applies_to=_promises_random_seeds)
def unseeded_samples_are_alike(params: SamplingParams) -> SamplingParams:
    """Without a seed, equal requests get the same sample, although the server should choose a random seed."""
    sampled = params.seed is None and params.temperature > 0 and not params.beam_search
    return replace(params, seed=FIXED_SEED) if sampled else params


def _end_with_a_draft(request: ServedRequest) -> None:
    """End at the last whole draft. Violates max_tokens and usage: completion_tokens counts what was not sent."""
    sent = request.payload
    for name in LIMITS if sent.get("min_tokens") is None else ():
        limit = sent.get(name)
        if isinstance(limit, int) and is_whole(limit, DRAFT + 1, GREATEST):
            request.state["lost"] = limit % DRAFT
            sent[name] = limit - limit % DRAFT


def _count_the_lost(response: Json, request: ServedRequest) -> None:
    state = request.state
    state["cut"] = state.get("cut", 0) + sum(choice.get("finish_reason") == "length" for choice in choices_of(response))
    usage, lost = response.get("usage"), state.get("lost", 0)
    if isinstance(usage, dict) and usage.get("completion_tokens"):
        usage["completion_tokens"] += lost * state["cut"]
        usage["total_tokens"] += lost * state["cut"]


limits_end_within_drafts = hooked_fault(
    "limits-end-within-drafts",
    "An answer that max_tokens cuts ends with the last group of four tokens, but all tokens up to max_tokens count.",
    request=_end_with_a_draft,
    answer=_count_the_lost,
    chunk=_count_the_lost,
)
