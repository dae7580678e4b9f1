"""Blind faults of two things together: log-probabilities next to tokens that are banned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import is_number, when
from reference_server.faults.decorators import has_parameters
from reference_server.faults.request_edits import failed

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

BAN: Final = -100


def _scores_banned(sent: Json) -> bool:
    biases: Any = sent.get("logit_bias")
    bans = isinstance(biases, dict) and any(is_number(bias, BAN, BAN) for bias in biases.values())
    return bans and sent.get("logprobs") is True


# Violates logprobs, which any request may have. The log-probability of a banned token is not a number of JSON.
scores_next_to_bans_fail = when(
    "scores-next-to-bans-fail",
    "A request for log-probabilities gets a 500 if its logit_bias bans a token.",
    _scores_banned,
    failed,
    applies_to=has_parameters("logit_bias", "logprobs"),
)
