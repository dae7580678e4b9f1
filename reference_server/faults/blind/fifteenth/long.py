"""Blind faults of long conversations: arguments of earlier calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.tool_recipes import past_functions
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest

LONGEST: Final = 200
MARK: Final = "...[truncated]"


def _cut(value: Any) -> Any:
    """Return JSON without the ends of its long strings."""
    if isinstance(value, dict):
        return {name: _cut(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_cut(item) for item in value]
    return value[:LONGEST] + MARK if isinstance(value, str) and len(value) > LONGEST else value


def _cut_past_arguments(request: ServedRequest) -> None:
    """Save tokens. Violates tool_calls.function.arguments: those of the call."""
    for function in past_functions(request.payload):
        arguments = function.get("arguments")
        if isinstance(arguments, str) and len(arguments) > LONGEST:
            try:
                function["arguments"] = json.dumps(_cut(json.loads(arguments)), ensure_ascii=False)
            except ValueError:
                continue


long_past_arguments_cut = hooked_fault(
    "long-past-arguments-cut",
    "Strings of more than 200 characters in the arguments of earlier calls reach the model without their end.",
    request=_cut_past_arguments,
    applies_to=has_parameters("tools"),
)
