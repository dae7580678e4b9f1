"""Blind faults of tools: numbers and ends of arguments, indices of calls, results in parts, and a single call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import dropping, messages_of
from reference_server.faults.blind.tool_recipes import arguments_fault
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.hooks import Json, ServedRequest

LARGEST_EXACT: Final = 2**53


def _map_values(change: Callable[[Any], Any]) -> Callable[[str, Json], str]:
    """Return an edit of arguments that changes each value of the object."""

    def edit(arguments: str, _schemas: Json) -> str:
        values = {name: change(value) for name, value in json.loads(arguments).items()}
        return json.dumps(values, ensure_ascii=False)

    return edit


def _round(value: Any) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return int(float(value)) if whole and abs(value) > LARGEST_EXACT else value


def _strip_end(value: Any) -> Any:
    return value.rstrip("\n ") if isinstance(value, str) else value


def _share_index(chunk: Json, _request: ServedRequest) -> None:
    """Number calls from 0 in each chunk. Violates tool_calls.index: the call that the piece belongs to."""
    for choice in choices_of(chunk):
        for call in message_of(choice).get("tool_calls") or ():
            if "index" in call:
                call["index"] = 0


def _write_parts(request: ServedRequest) -> None:
    """Write a list as JSON. Violates messages.content of a tool: the text of the parts."""
    for message in messages_of(request.payload):
        if message.get("role") == "tool" and isinstance(message.get("content"), list):
            message["content"] = json.dumps(message["content"])


large_integers_rounded = arguments_fault(
    "large-integers-rounded", "Integers above 2**53 in arguments are rounded.", _map_values(_round)
)
ends_of_strings_stripped = arguments_fault(
    "ends-of-strings-stripped",
    "Line ends and spaces at the end of a string in arguments are lost.",
    _map_values(_strip_end),
)
streamed_calls_share_index_zero = hooked_fault(
    "streamed-calls-share-index-zero",
    "All calls of a stream have the index 0.",
    chunk=_share_index,
    applies_to=has_parameters("tools"),
)
results_in_parts_become_json = hooked_fault(
    "results-in-parts-become-json",
    "The model gets the JSON of a tool's result that is a list of parts.",
    request=_write_parts,
    applies_to=has_parameters("tools", "parallel_tool_calls"),
)
single_calls_not_enforced = hooked_fault(
    "single-calls-not-enforced",
    "An answer may have several calls although parallel_tool_calls is false.",
    request=dropping("parallel_tool_calls"),
    applies_to=has_parameters("parallel_tool_calls"),
)
