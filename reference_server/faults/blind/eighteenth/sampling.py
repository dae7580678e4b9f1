"""Blind faults of sampling: signs of penalties, large minimums, defaults next to top_p, and many stop ids."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_number, when
from reference_server.faults.decorators import has_parameters, sampling_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

LARGEST_MINIMUM: Final = 32
MOST_STOP_IDS: Final = 8


def _lacks_temperature(sent: Json) -> bool:
    return is_number(sent.get("top_p"), 0, 1) and "temperature" not in sent


def _make_greedy(request: ServedRequest) -> None:
    """Use one of two parameters. Violates temperature, whose default is above 0."""
    request.payload["temperature"] = 0


def _has_many_stop_ids(sent: Json) -> bool:
    ids = sent.get("stop_token_ids")
    return isinstance(ids, list) and len(ids) > MOST_STOP_IDS


def _keep_first_stop_ids(request: ServedRequest) -> None:
    """Fill a table of fixed size. Violates stop_token_ids: each of them ends the answer."""
    request.payload["stop_token_ids"] = request.payload["stop_token_ids"][:MOST_STOP_IDS]


temperatures_default_to_zero_next_to_top_p = when(
    "temperatures-default-to-zero-next-to-top-p",
    "The answer is greedy if the request has top_p and no temperature.",
    _lacks_temperature,
    _make_greedy,
    applies_to=has_parameters("temperature", "top_p"),
)
stop_ids_after_the_eighth_ignored = when(
    "stop-ids-after-the-eighth-ignored",
    "Of more than eight stop_token_ids, only the first eight end the answer.",
    _has_many_stop_ids,
    _keep_first_stop_ids,
    applies_to=has_parameters("stop_token_ids"),
)


@sampling_fault("minimums-above-thirty-two-lowered", applies_to=has_parameters("min_tokens"))
def minimums_above_thirty_two_lowered(params: SamplingParams) -> SamplingParams:
    """A min_tokens above 32 is 32."""
    return replace(params, min_tokens=min(params.min_tokens, LARGEST_MINIMUM))


@sampling_fault("negative-length-penalties-are-zero", applies_to=has_parameters("length_penalty", "use_beam_search"))
def negative_length_penalties_are_zero(params: SamplingParams) -> SamplingParams:
    """A negative length_penalty of a beam search has no effect."""
    return replace(params, length_penalty=max(params.length_penalty, 0.0))
