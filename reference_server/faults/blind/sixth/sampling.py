"""Blind faults of sampling parameters: bits of the seed, a neutral value, and two penalties together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_number, is_whole, when
from reference_server.faults.decorators import has_parameters, sampling_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

LOW_BITS: Final = 2**32 - 1


@sampling_fault("seeds-lose-high-bits", applies_to=has_parameters("seed"))
def seeds_lose_high_bits(params: SamplingParams) -> SamplingParams:
    """Seeds that are equal in their lowest 32 bits have the same effect."""
    return params if params.seed is None else replace(params, seed=params.seed & LOW_BITS)


def _asks_for_all_tokens(sent: Json) -> bool:
    return is_whole(sent.get("top_k"), 0, 0)


def _keep_one_token(request: ServedRequest) -> None:
    """Keep at least one token. Violates top_k: 0 keeps all tokens."""
    request.payload["top_k"] = 1


def _has_both_penalties(sent: Json) -> bool:
    return all(
        is_number(sent.get(name), -2, 2) and sent[name] != 0 for name in ("presence_penalty", "frequency_penalty")
    )


def _drop_presence(request: ServedRequest) -> None:
    """Pass one penalty on. Violates presence_penalty: a penalty for each token that has occurred."""
    request.payload["presence_penalty"] = 0


top_k_of_zero_is_greedy = when(
    "top-k-of-zero-is-greedy",
    "With a top_k of 0, the most likely token is always chosen.",
    _asks_for_all_tokens,
    _keep_one_token,
    applies_to=has_parameters("top_k"),
)
presence_penalties_lost_next_to_frequency = when(
    "presence-penalties-lost-next-to-frequency",
    "A presence_penalty has no effect if there is a frequency_penalty.",
    _has_both_penalties,
    _drop_presence,
    applies_to=has_parameters("presence_penalty", "frequency_penalty"),
)
