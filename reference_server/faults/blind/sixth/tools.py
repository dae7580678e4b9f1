"""Blind faults of tools: ends and form of arguments, indices of calls, results in parts, and a single call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import dropping, messages_of
from reference_server.faults.blind.tool_recipes import arguments_fault
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.hooks import Json, ServedRequest


def _map_values(change: Callable[[Any], Any]) -> Callable[[str, Json], str]:
    """Return an edit of arguments that changes each value of the object."""

    def edit(arguments: str, _schemas: Json) -> str:
        values = {name: change(value) for name, value in json.loads(arguments).items()}
        return json.dumps(values, ensure_ascii=False)

    return edit


def _strip_end(value: Any) -> Any:
    return value.rstrip("\n ") if isinstance(value, str) else value


def _names_function(sent: Json) -> str | None:
    choice = sent.get("tool_choice")
    function = choice.get("function") if isinstance(choice, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) and sent.get("stream") is True else None


def _allow_prose(request: ServedRequest) -> None:
    """Do not constrain the answer. Violates tool_choice: the arguments match the schema of the function."""
    if _names_function(request.payload):
        request.payload["tool_choice"] = "none"


def _send_prose_as_arguments(chunk: Json, request: ServedRequest) -> None:
    """Take text for arguments. Violates function.arguments: JSON."""
    name = _names_function(request.payload)
    for choice in choices_of(chunk) if name else ():
        said, index = message_of(choice), str(choice.get("index"))
        if said.get("content"):
            function = {"arguments": said["content"]}
            call: Json = {"index": 0, "function": function}
            if index not in request.state:
                request.state[index] = True
                call = {"index": 0, "id": f"call_{index}", "type": "function", "function": {"name": name, **function}}
            said["content"] = ""
            said["tool_calls"] = [call]
        if choice.get("finish_reason") == "stop":
            choice["finish_reason"] = "tool_calls"


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


ends_of_strings_stripped = arguments_fault(
    "ends-of-strings-stripped",
    "Line ends and spaces at the end of a string in arguments are lost.",
    _map_values(_strip_end),
)
named_calls_are_prose_in_streams = hooked_fault(
    "named-calls-are-prose-in-streams",
    "The arguments of a streamed call are text if tool_choice names the function.",
    request=_allow_prose,
    chunk=_send_prose_as_arguments,
    applies_to=has_parameters("tools", "tool_choice"),
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
