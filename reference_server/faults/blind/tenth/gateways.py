"""Blind faults of gateways: replicas that lack a parser or draw otherwise, and a list of models in another form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.gateway_recipes import models_fault, replica_fault
from reference_server.faults.blind.recipes import is_whole
from reference_server.faults.decorators import choices_of, has_parameters, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

GREATEST_SEED = 2**62


def _leave_calls_in_text(response: Json, _request: ServedRequest) -> None:
    """Run without the parser of calls. Violates tool_calls: calls are not text."""
    for choice in choices_of(response):
        said = message_of(choice)
        if said.get("tool_calls"):
            functions = [call.get("function") or {} for call in said.pop("tool_calls")]
            pieces = [f"{function.get('name') or ''}{function.get('arguments') or ''}" for function in functions]
            said["content"] = (said.get("content") or "") + "".join(pieces)
        if choice.get("finish_reason") == "tool_calls":
            choice["finish_reason"] = "stop"


def _use_next_seed(request: ServedRequest) -> None:
    """Draw other numbers. Violates seed: the same seed brings the same answer."""
    if is_whole(request.payload.get("seed"), 0, GREATEST_SEED):
        request.payload["seed"] += 1


def _rename_list(listed: Json) -> None:
    """List models like another API. Violates data, which has the models."""
    listed["models"] = listed.pop("data")


second_replica_leaves_calls_in_text = replica_fault(
    "second-replica-leaves-calls-in-text",
    "One of two replicas leaves tool calls in the text. It answers every other request.",
    edit=_leave_calls_in_text,
    applies_to=has_parameters("tools"),
)
second_replica_has_other_seeds = replica_fault(
    "second-replica-has-other-seeds",
    "One of two replicas draws other random numbers for the same seed. It answers every other request.",
    change=_use_next_seed,
    applies_to=has_parameters("seed"),
)
models_listed_under_another_name = models_fault(
    "models-listed-under-another-name", "The list of models is in the field models instead of data.", _rename_list
)
