"""Faults at the ends of the ranges of sampling parameters, and next to them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import (
    choices_of,
    fault,
    has_parameters,
    hooked_fault,
    message_of,
    sampling_fault,
    variation,
)
from reference_server.faults.hooks import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine import SamplingParams
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

HOTTEST: Final = 2.0
INT32_GREATEST: Final = 2**31 - 1
ROOM: Final = 4096  # tokens of a context
EXPONENT: Final = re.compile(rb"[0-9][eE]-[0-9]")
MOST_BIASES: Final = 300
LEAST_TEMPERATURE: Final = 0.01


@sampling_fault("least-temperatures-are-highest", bugs=[160])
def least_temperatures_are_the_highest(params: SamplingParams) -> SamplingParams:
    """A temperature between 0 and 0.001 overflows, and tokens are drawn at random."""
    return replace(params, temperature=HOTTEST) if 0 < params.temperature < 1e-3 else params


@sampling_fault("all-tokens-are-one", bugs=[161], applies_to=has_parameters("top_k"))
def all_tokens_are_one(params: SamplingParams) -> SamplingParams:
    """A `top_k` for all tokens, 0 or -1, is raised to 1."""
    return replace(params, top_k=1) if params.top_k < 1 else params


def _refused(name: str, line: str, is_refused: Callable[[ServedRequest], bool], **options: Any) -> Fault:
    """Make a fault that refuses some valid requests."""

    def refuse(request: ServedRequest) -> None:
        if is_refused(request):
            raise Refusal("invalid_request", "the value is out of range")

    return hooked_fault(name, line, request=refuse, **options)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


small_min_p_refused = _refused(
    "small-min-p-refused",
    "A `min_p` above 0 and below 0.001 is refused.",
    lambda request: _is_number(request.payload.get("min_p")) and 0 < request.payload["min_p"] < 1e-3,
    applies_to=has_parameters("min_p"),
)
exponents_refused = _refused(
    "exponents-refused",
    "Numbers that are written with a negative exponent are refused.",
    lambda request: EXPONENT.search(request.body) is not None,
)
seeds_beyond_57_bits_refused = _refused(
    "seeds-beyond-57-bits-refused",
    "Seeds above 2**57 are refused, except for the greatest one.",
    lambda request: _is_number(request.payload.get("seed")) and 2**57 < request.payload["seed"] < 2**63 - 1,
    bugs=[162],
    applies_to=lambda contract: contract.parameters["seed"].schema.get("maximum", 0) > 2**57,
)
no_alternatives_refused = _refused(
    "no-alternatives-refused",
    "`top_logprobs: 0` is refused.",
    lambda request: request.payload.get("top_logprobs") == 0 and request.payload.get("top_logprobs") is not False,
    bugs=[163],
    applies_to=has_parameters("top_logprobs"),
)


@fault("greatest-limit-leaves-nothing", "answer", bugs=[164])
def greatest_limit_leaves_nothing(answer: Json, request: ServedRequest) -> None:
    """The sum of the prompt and a `max_tokens` close to 2**31 overflows, and the answer is empty."""
    limit = request.payload.get("max_tokens")
    if isinstance(limit, int) and INT32_GREATEST - ROOM < limit <= INT32_GREATEST:
        for choice in choices_of(answer):
            message_of(choice)["content"] = ""
            choice["finish_reason"] = "length"


@sampling_fault("bans-capped", bugs=[165], applies_to=has_parameters("logit_bias"))
def bans_are_capped(params: SamplingParams) -> SamplingParams:
    """A negative `logit_bias` is raised to -1."""
    return replace(params, logit_bias=tuple((token, max(bias, -1.0)) for token, bias in params.logit_bias))


@sampling_fault("least-temperatures-raised", benign=True)
def least_temperatures_are_raised(params: SamplingParams) -> SamplingParams:
    """A temperature between 0 and 0.01 is raised to 0.01, as vLLM does."""
    lowest = LEAST_TEMPERATURE if params.temperature > 0 else 0.0
    return replace(params, temperature=max(params.temperature, lowest))


def _limit_biases(request: ServedRequest) -> None:
    biases = request.payload.get("logit_bias")
    if isinstance(biases, dict) and len(biases) > MOST_BIASES:
        raise Refusal("invalid_request", f"logit_bias has more than {MOST_BIASES} entries")


biases_limited = variation(
    "biases-limited",
    "More than 300 entries of `logit_bias` are refused, as OpenAI does.",
    request=_limit_biases,
    applies_to=has_parameters("logit_bias"),
)
