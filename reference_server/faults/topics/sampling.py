"""Parameters of sampling that are taken and do nothing, or something else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.seams import at_seams, knows, sampled

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.seams import Told

WILD: Final = 1.6  # a temperature at which no two answers are alike


def _ignoring(*names: str) -> object:
    def edit(told: Told) -> None:
        for name in names:
            told.sent.pop(name, None)

    return edit


@sampled("seed-ignored", bugs=[105])
def seed_ignored(params: SamplingParams) -> SamplingParams:
    """`seed` is ignored."""
    return replace(params, seed=None)


@sampled("greedy-wanders", bugs=[106])
def greedy_wanders(params: SamplingParams) -> SamplingParams:
    """At temperature 0 the answer does not repeat."""
    return replace(params, temperature=params.temperature or WILD, seed=None)


@sampled("temperature-ignored", bugs=[106])
def temperature_ignored(params: SamplingParams) -> SamplingParams:
    """`temperature` is ignored: everything is greedy."""
    return replace(params, temperature=0.0)


@sampled("seed-constant", bugs=[105])
def seed_constant(params: SamplingParams) -> SamplingParams:
    """Every request has the same seed, whatever it asks for."""
    return replace(params, seed=1)


@sampled("end-not-ignored", fits=knows("ignore_eos"))
def end_not_ignored(params: SamplingParams) -> SamplingParams:
    """`ignore_eos` is ignored."""
    return replace(params, ignore_eos=False)


@sampled("end-always-ignored", bugs=[56])
def end_always_ignored(params: SamplingParams) -> SamplingParams:
    """The model's end of an answer is ignored: every answer runs to its limit."""
    return replace(params, ignore_eos=True, max_tokens=params.max_tokens or 64)


@sampled("limit-ignored", bugs=[128])
def limit_ignored(params: SamplingParams) -> SamplingParams:
    """`max_tokens` is ignored."""
    return replace(params, max_tokens=None)


@sampled("limit-off-by-one", bugs=[71])
def limit_off_by_one(params: SamplingParams) -> SamplingParams:
    """One token more than max_tokens is generated."""
    return replace(params, max_tokens=None if params.max_tokens is None else params.max_tokens + 1)


@sampled("limit-capped")
def limit_capped(params: SamplingParams) -> SamplingParams:
    """No answer gets more than 5 tokens, whatever max_tokens says."""
    return replace(params, max_tokens=min(5, params.max_tokens or 5))


@sampled("choices-share-a-seed", bugs=[48], fits=knows("n"))
def best_of_ignored(params: SamplingParams) -> SamplingParams:
    """Several choices are sampled greedily, and are all the same."""
    return replace(params, temperature=0.0, beam_search=False, best_of=None) if params.n > 1 else params


@sampled("penalties-ignored", fits=knows("presence_penalty"))
def penalties_ignored(params: SamplingParams) -> SamplingParams:
    """Penalties are ignored."""
    return replace(params, presence_penalty=0.0, frequency_penalty=0.0, repetition_penalty=1.0)


@sampled("top-k-ignored", fits=knows("top_k"))
def top_k_ignored(params: SamplingParams) -> SamplingParams:
    """`top_k` and `top_p` are ignored."""
    return replace(params, top_k=0, top_p=1.0)


@sampled("stop-token-ids-ignored", fits=knows("stop_token_ids"))
def stop_token_ids_ignored(params: SamplingParams) -> SamplingParams:
    """`stop_token_ids` is ignored."""
    return replace(params, stop_token_ids=frozenset())


max_completion_tokens_ignored = at_seams(
    "max-completion-tokens-ignored",
    "`max_completion_tokens` is ignored.",
    request=_ignoring("max_completion_tokens"),
    fits=knows("max_completion_tokens"),
    bugs=[128],
)
