"""Blind faults of gateways: null as false, and single models in a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import when
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _has_null_parallel(sent: Json) -> bool:
    return "parallel_tool_calls" in sent and sent["parallel_tool_calls"] is None


def _call_once(request: ServedRequest) -> None:
    """Test whether a value is true. Violates parallel_tool_calls, whose default null leaves in force."""
    request.payload["parallel_tool_calls"] = False


def _list_model(answer: Json, request: ServedRequest) -> None:
    """Route by the beginning of a path. Violates the model, whose object is model."""
    models_path = request.contract.models_path
    if request.method == "GET" and models_path and request.path.startswith(f"{models_path}/"):
        model = dict(answer)
        answer.clear()
        answer.update(object="list", data=[model])


null_parallel_calls_are_single = when(
    "null-parallel-calls-are-single",
    "If parallel_tool_calls is null, an answer has at most one call.",
    _has_null_parallel,
    _call_once,
    applies_to=allows(tools=[NO_TOOL], parallel_tool_calls=None),
)
single_models_in_lists = hooked_fault(
    "single-models-in-lists",
    "The answer to a request for one model is a list that contains it.",
    answer=_list_model,
    everywhere=True,
    applies_to=lambda contract: bool(contract.models_path),
)
