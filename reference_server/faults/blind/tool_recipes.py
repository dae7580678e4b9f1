"""Read the tools of a request and the calls of a response, and make faults of arguments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import messages_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest


def functions_of(sent: Json) -> Iterator[Json]:
    """Yield the functions of the tools of a request."""
    tools = sent.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict) and isinstance(tool.get("function"), dict):
            yield tool["function"]


def properties_of(function: Json) -> Json:
    """Return the schemas of the properties of a function's parameters."""
    parameters = function.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    return properties if isinstance(properties, dict) else {}


def past_functions(sent: Json) -> list[Json]:
    """Return the functions of the calls in the messages of a request."""
    calls: list[Any] = []
    for message in messages_of(sent):
        told = message.get("tool_calls")
        calls += told if isinstance(told, list) else []
    functions = [call.get("function") for call in calls if isinstance(call, dict)]
    return [function for function in functions if isinstance(function, dict)]


def calls_of(response: Json) -> Iterator[Json]:
    """Yield the functions of the tool calls in an answer or a chunk."""
    for choice in choices_of(response):
        yield from (call["function"] for call in message_of(choice).get("tool_calls") or () if "function" in call)


def arguments_fault(name: str, line: str, edit: Callable[[str, Json], str]) -> Fault:
    """Make a fault of the arguments in plain answers; `edit` gets them and the schemas of the tool's properties."""

    def change(answer: Json, request: ServedRequest) -> None:
        schemas = {function.get("name"): properties_of(function) for function in functions_of(request.payload)}
        for call in calls_of(answer):
            try:
                valid = isinstance(json.loads(call["arguments"]), dict)
            except (KeyError, TypeError, ValueError):
                continue
            if valid:
                call["arguments"] = edit(call["arguments"], schemas.get(call.get("name"), {}))

    return hooked_fault(name, line, answer=change, applies_to=has_parameters("tools"))
