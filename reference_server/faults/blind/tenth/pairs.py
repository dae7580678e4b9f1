"""Blind faults of two parameters together: seeds, alternatives and stop strings in streams, and scores of forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import dropping, is_whole, when
from reference_server.faults.blind.schema_recipes import form_type_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

FORMS: Final = ("json_object", "json_schema")
GREATEST: Final = 20


def _streams(sent: Json) -> bool:
    return sent.get("stream") is True


def _streams_alternatives(sent: Json) -> bool:
    return _streams(sent) and is_whole(sent.get("top_logprobs"), 2, GREATEST)


def _list_one(request: ServedRequest) -> None:
    """List the likeliest token. Violates top_logprobs: the number of most likely tokens."""
    request.payload["top_logprobs"] = 1


def _has_form(sent: Json) -> bool:
    return form_type_of(sent) in FORMS


def _draws_seeds(contract: Contract) -> bool:
    """Apply to dialects that draw a seed for requests without one."""
    return allows(seed=1, stream=True)(contract) and not isinstance(contract.parameters["seed"].default, int)


# Violates seed: the same seed brings the same answer.
seeds_lost_in_streams = when(
    "seeds-lost-in-streams",
    "A seed has no effect in streams.",
    _streams,
    dropping("seed"),
    applies_to=_draws_seeds,
)
alternatives_lost_in_streams = when(
    "alternatives-lost-in-streams",
    "Streams list one most likely token at each position, if the request asks for more.",
    _streams_alternatives,
    _list_one,
    applies_to=allows(stream=True, logprobs=True, top_logprobs=2),
)
# Violates logprobs: true returns those of the tokens.
scores_lost_next_to_forms = when(
    "scores-lost-next-to-forms",
    "Answers with response_format have no log-probabilities.",
    _has_form,
    dropping("logprobs", "top_logprobs"),
    applies_to=has_parameters("response_format", "logprobs"),
)
# Violates include_stop_str_in_output: the text includes the stop string.
stop_strings_left_out_of_streams = when(
    "stop-strings-left-out-of-streams",
    "include_stop_str_in_output has no effect in streams.",
    _streams,
    dropping("include_stop_str_in_output"),
    applies_to=has_parameters("include_stop_str_in_output", "skip_special_tokens"),
)
