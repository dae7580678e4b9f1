"""Blind faults of gateways: replicas of other versions, requests that are written again, and lists of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.gateway_recipes import models_fault, replica_fault, rewriting
from reference_server.faults.blind.recipes import dropping
from reference_server.faults.blind.thought_recipes import THOUGHTS, thoughts_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

OF_ENGINES: Final = (
    *("top_k", "min_p", "repetition_penalty", "min_tokens", "stop_token_ids"),
    *("include_stop_str_in_output", "skip_special_tokens", "ignore_eos"),
)
"""Parameters that OpenAI's API does not have."""


def _rename_thoughts(response: Json, _request: ServedRequest) -> None:
    """Send the reasoning under the name of an older version. Violates the field in which a dialect has it."""
    for choice in choices_of(response):
        said = message_of(choice)
        thoughts = thoughts_of(said)
        if thoughts:
            del said[thoughts[0]]
            said[next(name for name in THOUGHTS if name != thoughts[0])] = thoughts[1]


def _list_nothing(listed: Json) -> None:
    """Ask a registry that is empty. Violates models: those that can be used are listed."""
    listed["data"] = []


second_replica_ignores_forms = replica_fault(
    "second-replica-ignores-forms",
    "One of two replicas ignores `response_format`. It answers every other request.",
    change=dropping("response_format"),
    applies_to=has_parameters("response_format"),
)
second_replica_renames_thoughts = replica_fault(
    "second-replica-renames-thoughts",
    "One of two replicas, an older version, has another name for the reasoning. It answers every other request.",
    edit=_rename_thoughts,
    applies_to=has_parameters("include_reasoning"),
)
parameters_of_engines_dropped = hooked_fault(
    "parameters-of-engines-dropped",
    "A gateway leaves out the parameters that OpenAI's API does not have, such as top_k and ignore_eos.",
    request=dropping(*OF_ENGINES),
    applies_to=has_parameters("top_k"),
)
empty_objects_become_lists = hooked_fault(
    "empty-objects-become-lists",
    "A gateway writes each empty object of a request as an empty list.",
    request=rewriting({}, []),
)
model_lists_are_empty = models_fault("model-lists-are-empty", "The list of models is empty.", _list_nothing)
