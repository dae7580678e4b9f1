"""Faults that break the repeatability of answers or their length limit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import at_seams, demands, knows, sampled

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Told

WILD: Final = 1.6  # a temperature at which no two answers are alike


def _rounded(told: Told) -> None:
    limit = told.sent.get("max_tokens")
    if isinstance(limit, int) and 16 < limit < 1_000:
        told.sent["max_tokens"] = limit // 8 * 8


limits_rounded = at_seams("limits-rounded", "Limits above 16 are rounded down to eights.", request=_rounded, bugs=[71])


def _no_seed_with_logprobs(told: Told) -> None:
    if told.sent.get("logprobs"):
        told.sent.pop("seed", None)


seed_ignored_with_logprobs = at_seams(
    "seed-ignored-with-logprobs", "`seed` is ignored where log-probabilities are asked for.",
    request=_no_seed_with_logprobs, fits=demands("sampling.seed-heeded-with-logprobs"), declares=("logprobs",),
    bugs=[105],
)  # fmt: skip


@sampled("seed-ignored", bugs=[105])
def seed_ignored(params: SamplingParams) -> SamplingParams:
    """`seed` is ignored."""
    return replace(params, seed=None)


def _no_seed_in_streams(told: Told) -> None:
    if told.sent.get("stream") is True:
        told.sent.pop("seed", None)


seed_ignored_in_streams = at_seams(
    "seed-ignored-in-streams", "`seed` is ignored in streams.", request=_no_seed_in_streams, bugs=[105]
)


@sampled("greedy-wanders", bugs=[106])
def greedy_wanders(params: SamplingParams) -> SamplingParams:
    """At temperature 0 the answer does not repeat."""
    return replace(params, temperature=params.temperature or WILD, seed=None)


@sampled("end-not-ignored", fits=knows("ignore_eos"))
def end_not_ignored(params: SamplingParams) -> SamplingParams:
    """`ignore_eos` is ignored."""
    return replace(params, ignore_eos=False)


@sampled("limit-capped")
def limit_capped(params: SamplingParams) -> SamplingParams:
    """No answer gets more than 5 tokens, whatever max_tokens says."""
    return replace(params, max_tokens=min(5, params.max_tokens or 5))


@sampled("seeded-answers-wander", bugs=[105])
def seeded_answers_wander(params: SamplingParams) -> SamplingParams:
    """With a seed, answers are drawn by chance and at a high temperature."""
    if params.seed is None or params.temperature == 0:
        return params
    return replace(params, seed=None, temperature=max(params.temperature, WILD))
