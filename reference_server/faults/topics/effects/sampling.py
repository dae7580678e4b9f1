"""Faults in which a sampling parameter has no effect, or the wrong one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.engine import SamplingParams
from reference_server.faults.decorators import has_parameters, hooked_fault, sampling_fault
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
