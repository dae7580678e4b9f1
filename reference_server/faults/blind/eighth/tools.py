"""Blind faults of tools: calls of another form, names and arguments that change, and histories of calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import fail, messages_of, when
from reference_server.faults.blind.schema_recipes import drop_keywords
from reference_server.faults.blind.tool_recipes import arguments_fault, calls_of, functions_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest


def _drop_types(answer: Json, _request: ServedRequest) -> None:
    """Leave out a field. Violates tool_calls.type, which is required."""
    for choice in choices_of(answer):
        for call in message_of(choice).get("tool_calls") or ():
            call.pop("type", None)


def _repeat_arguments(chunk: Json, request: ServedRequest) -> None:
    """Send what seems to remain. Violates function.arguments: the pieces are JSON together."""
    for choice in choices_of(chunk):
        pieces = message_of(choice).get("tool_calls") or ()
        for call in pieces:
            key = f"{choice.get('index')} {call.get('index')}"
            said = (call.get("function") or {}).get("arguments") or ""
            request.state[key] = whole = request.state.get(key, "") + said
            if said and _is_whole(whole):
                call["function"]["arguments"] = said + whole


def _is_whole(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _drop_descriptions(request: ServedRequest) -> None:
    """Render names and types only. Violates parameters: the description of each of them."""
    for function in functions_of(request.payload):
        parameters = function.get("parameters")
        if isinstance(parameters, dict):
            for schema in (parameters.get("properties") or {}).values():
                drop_keywords(schema, "description")


def _lower_names(response: Json, _request: ServedRequest) -> None:
    """Write names in lower case. Violates function.name: the name of the function to call."""
    for function in calls_of(response):
        if isinstance(function.get("name"), str):
            function["name"] = function["name"].lower()


def _add_nulls(arguments: str, schemas: Json) -> str:
    """Fill parameters that are not given. Violates parameters: null is not a string."""
    return json.dumps({**dict.fromkeys(schemas), **json.loads(arguments)})


def _write_python(request: ServedRequest) -> None:
    """Parse a result, and write it as Python does. Violates messages.content: the text of the result."""
    for message in messages_of(request.payload):
        if message.get("role") == "tool" and isinstance(message.get("content"), str):
            try:
                value: Any = json.loads(message["content"])
            except ValueError:
                continue
            message["content"] = str(value)


def _has_two_rounds(sent: Json) -> bool:
    return sum(bool(message.get("tool_calls")) for message in messages_of(sent)) > 1


def _fail(request: ServedRequest) -> CannedResponse:
    """Fail for a history that the model produced. Violates messages: the conversation so far."""
    return fail(request)


types_of_calls_missing = hooked_fault(
    "types-of-calls-missing",
    "The calls of plain answers have no type.",
    answer=_drop_types,
    applies_to=has_parameters("tools"),
)
arguments_repeated_at_the_end_of_streams = hooked_fault(
    "arguments-repeated-at-the-end-of-streams",
    "The last piece of a streamed call contains all of its arguments again.",
    chunk=_repeat_arguments,
    applies_to=has_parameters("tools"),
)
descriptions_of_parameters_lost = hooked_fault(
    "descriptions-of-parameters-lost",
    "The descriptions of the parameters of tools do not reach the model.",
    request=_drop_descriptions,
    applies_to=has_parameters("tools"),
)
capitals_in_names_lost = hooked_fault(
    "capitals-in-names-lost",
    "The name of a called function is in lower case.",
    answer=_lower_names,
    chunk=_lower_names,
    applies_to=has_parameters("tools"),
)
missing_arguments_are_null = arguments_fault(
    "missing-arguments-are-null",
    "Optional parameters that a call does not mention are null in plain answers.",
    _add_nulls,
)
results_rewritten_as_python = hooked_fault(
    "results-rewritten-as-python",
    "The result of a tool that is JSON reaches the model as Python writes it.",
    request=_write_python,
    applies_to=has_parameters("tools"),
)
second_rounds_of_calls_fail = when(
    "second-rounds-of-calls-fail",
    "A conversation with calls in two messages of the assistant gets a 500.",
    _has_two_rounds,
    _fail,
    applies_to=has_parameters("tools"),
)
