"""Faults in which a sampling parameter has no effect, or the wrong one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.engine import SamplingParams
from reference_server.faults.decorators import has_parameters, hooked_fault, requires_check, sampling_fault
from reference_server.faults.request_edits import ignoring

if TYPE_CHECKING:
    from reference_server.faults.fault import Fault


@sampling_fault("temperature-ignored", bugs=[106])
def temperature_ignored(params: SamplingParams) -> SamplingParams:
    """`temperature` is ignored: decoding is greedy."""
    return replace(params, temperature=0.0)


UNASKED: Final = SamplingParams()


def ignored(parameter: str, *bugs: int) -> Fault:
    """Make a fault that accepts and validates a parameter but ignores it."""

    def unasked(params: SamplingParams) -> SamplingParams:
        return replace(params, **{parameter: getattr(UNASKED, parameter)})

    unasked.__doc__ = f"`{parameter}` is accepted and ignored."
    return sampling_fault(f"ignores-{parameter.replace('_', '-')}", applies_to=has_parameters(parameter), bugs=bugs)(
        unasked
    )


@sampling_fault("greatest-top-k-samples", applies_to=has_parameters("top_k"))
def greatest_top_k_samples(params: SamplingParams) -> SamplingParams:
    """A very large `top_k` is sampled from, also at temperature 0."""
    return replace(params, temperature=2.0) if params.top_k > 2**20 else params


@sampling_fault("whole-top-p-reverses", applies_to=has_parameters("top_p"))
def whole_top_p_reverses(params: SamplingParams) -> SamplingParams:
    """`top_p` just below 1 is inverted: the likeliest tokens are left out."""
    return replace(params, temperature=2.0, top_p=1.0) if 0.95 < params.top_p < 1 else params


@sampling_fault("bias-halved", applies_to=has_parameters("logit_bias", "return_tokens_as_token_ids"))
def bias_is_halved(params: SamplingParams) -> SamplingParams:
    """Only half of `logit_bias` is added."""
    return replace(params, logit_bias=tuple((token, bias / 2) for token, bias in params.logit_bias))


temperature_taken = ignored("temperature", 106)
top_p_taken = ignored("top_p")
top_k_taken = ignored("top_k")
min_p_taken = ignored("min_p")
bias_taken = ignored("logit_bias")
bad_words_taken = ignored("bad_words")
allowed_taken = ignored("allowed_token_ids")
least_taken = ignored("min_tokens")
stop_ids_taken = ignored("stop_token_ids")
newer_limit_ignored = hooked_fault(
    "newer-limit-ignored",
    "`max_completion_tokens` is accepted and ignored.",
    request=ignoring("max_completion_tokens"),
    applies_to=has_parameters("max_completion_tokens"),
    bugs=[128],
)


@sampling_fault("top-k-one-more", applies_to=has_parameters("top_k"))
def top_k_one_more(params: SamplingParams) -> SamplingParams:
    """A `top_k` above 1 leaves one more token than it says."""
    return replace(params, top_k=params.top_k + 1) if params.top_k > 1 else params


@sampling_fault("top-k-tenfold", applies_to=has_parameters("top_k"))
def top_k_tenfold(params: SamplingParams) -> SamplingParams:
    """A `top_k` above 1 leaves ten times as many tokens as it says."""
    return replace(params, top_k=params.top_k * 10) if params.top_k > 1 else params


@sampling_fault("top-p-widened", applies_to=has_parameters("top_p", "logprobs"))
def top_p_widened(params: SamplingParams) -> SamplingParams:
    """A `top_p` between 0.1 and 1 is moved halfway to 1."""
    return replace(params, top_p=(1 + params.top_p) / 2) if 0.1 < params.top_p < 1 else params


@sampling_fault("top-p-narrowed", applies_to=requires_check("effects.top-p-whole"))
def top_p_narrowed(params: SamplingParams) -> SamplingParams:
    """A `top_p` between 0.1 and 1 is halved."""
    return replace(params, top_p=params.top_p / 2) if 0.1 < params.top_p < 1 else params


@sampling_fault("min-p-hundredth", applies_to=has_parameters("min_p"))
def min_p_hundredth(params: SamplingParams) -> SamplingParams:
    """A `min_p` below 1 counts as a hundredth of itself."""
    return replace(params, min_p=params.min_p / 100) if params.min_p < 1 else params


@sampling_fault("low-temperature-raised")
def low_temperature_raised(params: SamplingParams) -> SamplingParams:
    """A temperature between 0 and 0.1 counts as 0.8."""
    return replace(params, temperature=0.8) if 0 < params.temperature < 0.1 else params


@sampling_fault("temperature-inverted")
def temperature_inverted(params: SamplingParams) -> SamplingParams:
    """Temperatures are inverted: a low one counts as 2, and one above 1 as 0.01."""
    return replace(params, temperature=0.01 if params.temperature > 1 else 2.0) if params.temperature > 0 else params


@sampling_fault("top-p-of-one-narrows")
def top_p_of_one_narrows(params: SamplingParams) -> SamplingParams:
    """A `top_p` of 1 next to a `top_k` leaves the likeliest token only."""
    return replace(params, top_k=1) if params.top_p == 1 and params.top_k > 1 else params


@sampling_fault("cool-temperatures-are-greedy")
def cool_temperatures_are_greedy(params: SamplingParams) -> SamplingParams:
    """A temperature below 1 has the effect of 0."""
    return params if params.temperature >= 1 else replace(params, temperature=0.0)


@sampling_fault("top-p-in-percent")
def top_p_is_a_percentage(params: SamplingParams) -> SamplingParams:
    """A `top_p` below 1 is read as a percentage, so that hardly more than one token is left."""
    return params if params.top_p >= 1 else replace(params, top_p=params.top_p / 100)


@sampling_fault("mild-temperatures-doubled", applies_to=has_parameters("logprobs"))
def mild_temperatures_are_doubled(params: SamplingParams) -> SamplingParams:
    """A temperature between 0.1 and 1 counts as twice as high."""
    return replace(params, temperature=params.temperature * 2) if 0.1 < params.temperature < 1 else params


@sampling_fault("temperatures-clamped", applies_to=has_parameters("logprobs"))
def temperatures_are_clamped(params: SamplingParams) -> SamplingParams:
    """A temperature above 0.8 counts as 0.8."""
    return replace(params, temperature=min(params.temperature, 0.8))


@sampling_fault("weak-biases-ignored", applies_to=has_parameters("logit_bias"))
def weak_biases_are_ignored(params: SamplingParams) -> SamplingParams:
    """A `logit_bias` between -25 and 25 is ignored."""
    return replace(params, logit_bias=tuple((token, bias) for token, bias in params.logit_bias if abs(bias) > 25))
