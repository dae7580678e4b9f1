"""Faults that break the repeatability of answers or their length limit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import has_parameters, hooked_fault, requires_check, sampling_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import ServedRequest

WILD: Final = 1.6  # a temperature at which no two answers are alike


def _rounded(request: ServedRequest) -> None:
    limit = request.payload.get("max_tokens")
    if isinstance(limit, int) and 16 < limit < 1_000:
        request.payload["max_tokens"] = limit // 8 * 8


limits_rounded = hooked_fault(
    "limits-rounded", "max_tokens above 16 is rounded down to a multiple of 8.", request=_rounded, bugs=[71]
)


def _no_seed_with_logprobs(request: ServedRequest) -> None:
    if request.payload.get("logprobs"):
        request.payload.pop("seed", None)


seed_ignored_with_logprobs = hooked_fault(
    "seed-ignored-with-logprobs",
    "`seed` is ignored if log-probabilities are requested.",
    request=_no_seed_with_logprobs,
    applies_to=requires_check("sampling.seed-heeded-with-logprobs"),
    declares=("logprobs",),
    bugs=[105],
)


@sampling_fault("seed-ignored", bugs=[105])
def seed_ignored(params: SamplingParams) -> SamplingParams:
    """`seed` is ignored."""
    return replace(params, seed=None)


def _no_seed_in_streams(request: ServedRequest) -> None:
    if request.payload.get("stream") is True:
        request.payload.pop("seed", None)


seed_ignored_in_streams = hooked_fault(
    "seed-ignored-in-streams", "`seed` is ignored in streams.", request=_no_seed_in_streams, bugs=[105]
)


@sampling_fault("greedy-wanders", bugs=[106])
def greedy_wanders(params: SamplingParams) -> SamplingParams:
    """At temperature 0 answers are not repeatable."""
    return replace(params, temperature=params.temperature or WILD, seed=None)


@sampling_fault("end-not-ignored", applies_to=has_parameters("ignore_eos"))
def end_not_ignored(params: SamplingParams) -> SamplingParams:
    """`ignore_eos` is ignored."""
    return replace(params, ignore_eos=False)


@sampling_fault("limit-capped")
def limit_capped(params: SamplingParams) -> SamplingParams:
    """Answers have at most 5 tokens, whatever max_tokens is."""
    return replace(params, max_tokens=min(5, params.max_tokens or 5))


@sampling_fault("seeded-answers-wander", bugs=[105])
def seeded_answers_wander(params: SamplingParams) -> SamplingParams:
    """With a seed, answers are random and drawn at a high temperature."""
    if params.seed is None or params.temperature == 0:
        return params
    return replace(params, seed=None, temperature=max(params.temperature, WILD))
