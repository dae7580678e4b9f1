"""Faults in reading the schemas that clients generate, and in the calls of earlier turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from openapi.stream.strict_json import read_json
from reference_server.faults.decorators import choices_of, hooked_fault, message_of
from reference_server.faults.hooks import CannedResponse, Refusal
from reference_server.faults.request_edits import failed
from reference_server.faults.topics.tools.calls import called, calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest


def _functions(request: ServedRequest) -> Iterator[Json]:
    """Yield the functions that a request offers."""
    tools = request.payload.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict) and isinstance(tool.get("function"), dict):
            yield tool["function"]


def _nested(value: Any) -> Iterator[Json]:
    """Yield every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _nested(item)


def _without(name: str, line: str, *keywords: str, bugs: list[int]) -> Fault:
    """Make a fault that removes keywords from the schemas of tools."""

    def edit(request: ServedRequest) -> None:
        for function in _functions(request):
            for schema in list(_nested(function.get("parameters"))):
                for keyword in keywords:
                    schema.pop(keyword, None)

    return hooked_fault(name, line, request=edit, applies_to=calls, bugs=bugs)


references_dropped = _without(
    "tool-references-dropped", "References in the schemas of tools stand for any value.", "$ref", bugs=[141]
)
alternatives_dropped = _without(
    "tool-alternatives-dropped", "`anyOf` is removed from the schemas of tools.", "anyOf", "oneOf", bugs=[142]
)


def _require_types(request: ServedRequest) -> CannedResponse | None:
    for function in _functions(request):
        parameters = function.get("parameters")
        properties = parameters.get("properties") if isinstance(parameters, dict) else None
        for schema in properties.values() if isinstance(properties, dict) else ():
            if isinstance(schema, dict) and "type" not in schema:
                return failed(request)
    return None


untyped_properties_fail = hooked_fault(
    "tool-untyped-properties-fail",
    "A tool with a property whose schema has no type gets a 500.",
    request=_require_types,
    applies_to=calls,
    bugs=[142],
)


def _require_parameters(request: ServedRequest) -> None:
    if any(not (function.get("parameters") or {}).get("properties") for function in _functions(request)):
        raise Refusal("invalid_request", "tools: a function must have parameters")


bare_tools_refused = hooked_fault(
    "tools-that-take-nothing-refused",
    "A function without parameters is refused.",
    request=_require_parameters,
    applies_to=calls,
    bugs=[143],
)


def _stringify(answer: Json, _request: ServedRequest) -> None:
    for choice in choices_of(answer):
        for call in message_of(choice).get("tool_calls") or ():
            reading = read_json(call["function"]["arguments"])
            if isinstance(reading.value, dict):
                edited = {
                    name: orjson.dumps(value).decode() if isinstance(value, list) else value
                    for name, value in reading.value.items()
                }
                call["function"]["arguments"] = orjson.dumps(edited).decode()


lists_as_strings = hooked_fault(
    "call-lists-as-strings",
    "Lists in the arguments of plain answers are strings with JSON.",
    answer=_stringify,
    applies_to=calls,
    bugs=[141],
)


def _empty_ids(pieces: list[Json], _choice: Json) -> None:
    for piece in pieces:
        piece.setdefault("id", "")


ids_empty_in_later_pieces = called(
    "call-ids-empty-in-later-pieces",
    _empty_ids,
    "All pieces of a streamed call except the first have an empty id.",
    plain=False,
    bugs=[144],
)


def _fail_on_several(request: ServedRequest) -> CannedResponse | None:
    messages = request.payload.get("messages")
    for message in messages if isinstance(messages, list) else ():
        found = message.get("tool_calls") if isinstance(message, dict) else None
        for call in found if isinstance(found, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            arguments = function.get("arguments") if isinstance(function, dict) else None
            value = read_json(arguments).value if isinstance(arguments, str) else None
            if isinstance(value, dict) and len(value) > 1:
                return failed(request)
    return None


past_arguments_fail = hooked_fault(
    "past-arguments-fail",
    "An earlier call with several arguments gets a 500.",
    request=_fail_on_several,
    applies_to=calls,
    bugs=[145],
)


def _refuse_calls_without_content(request: ServedRequest) -> None:
    messages = request.payload.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("tool_calls") and not message.get("content"):
            raise Refusal("invalid_request", "messages: a message of the assistant needs a content")


own_calls_refused = hooked_fault(
    "own-calls-refused",
    "A message with calls and without content is refused, although the server itself answers with such messages.",
    request=_refuse_calls_without_content,
    applies_to=calls,
    bugs=[209],
)
