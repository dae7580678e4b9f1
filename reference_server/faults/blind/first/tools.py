"""Blind faults of tools with the schemas that real clients send."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import fail, messages_of, when
from reference_server.faults.blind.tool_recipes import arguments_fault, calls_of, functions_of, properties_of
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.hooks import Json, ServedRequest

RARE_KEYWORDS = {"propertyNames", "patternProperties", "minProperties", "maxProperties", "dependentRequired"}


def _each_value(edit: Callable[[Any], Any]) -> Callable[[str, Json], str]:
    def change(arguments: str, _schemas: Json) -> str:
        values = json.loads(arguments)
        edited = {name: edit(value) for name, value in values.items()}
        return arguments if edited == values else json.dumps(edited, ensure_ascii=False)

    return change


def _quoted(value: Any) -> Any:
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _in_python(arguments: str, _schemas: Json) -> str:
    values = json.loads(arguments)
    return repr(values) if any(isinstance(value, bool) for value in values.values()) else arguments


def _backslashed(arguments: str, _schemas: Json) -> str:
    return re.sub(r"([^\x00-\x7f]+)", r"\\\1", arguments)


def _wrapped(arguments: str, _schemas: Json) -> str:
    values = json.loads(arguments)
    return json.dumps({"name": next(iter(values), ""), "arguments": values}, ensure_ascii=False)


def _ended_by_enums(arguments: str, schemas: Json) -> str:
    used = json.loads(arguments)
    hit = any(isinstance(schemas.get(name), dict) and "enum" in schemas[name] for name in used)
    return arguments.rstrip()[:-1] if hit else arguments


def _without_whole_enums(arguments: str, schemas: Json) -> str:
    values = json.loads(arguments)
    for name in values:
        schema = schemas.get(name)
        allowed = schema.get("enum") if isinstance(schema, dict) else None
        if isinstance(allowed, list) and not all(isinstance(value, str) for value in allowed):
            values[name] = ""
    return json.dumps(values, ensure_ascii=False)


def _drop_nested(request: ServedRequest) -> None:
    for function in functions_of(request.payload):
        for schema in properties_of(function).values():
            if isinstance(schema, dict) and schema.get("type") == "object":
                for keyword in ("properties", "required", "additionalProperties"):
                    schema.pop(keyword, None)


def _drop_items(request: ServedRequest) -> None:
    for function in functions_of(request.payload):
        for schema in properties_of(function).values():
            if isinstance(schema, dict) and schema.get("type") == "array":
                schema.pop("items", None)


def _no_braces(chunk: Json, request: ServedRequest) -> None:
    functions = list(functions_of(request.payload))
    if functions and not any(map(properties_of, functions)):
        for call in calls_of(chunk):
            if "arguments" in call:
                call["arguments"] = ""


def _empty_names(chunk: Json, _request: ServedRequest) -> None:
    for call in calls_of(chunk):
        call.setdefault("name", "")


def _has_rare_keyword(sent: Json) -> bool:
    return any(
        isinstance(schema, dict) and RARE_KEYWORDS & set(schema)
        for function in functions_of(sent)
        for schema in (function.get("parameters"), *properties_of(function).values())
    )


def _described_abroad(sent: Json) -> bool:
    return any(not str(function.get("description") or "").isascii() for function in functions_of(sent))


def _forget_arguments(request: ServedRequest) -> None:
    for message in messages_of(request.payload):
        for call in message.get("tool_calls") or ():
            if isinstance(call, dict) and isinstance(call.get("function"), dict):
                call["function"]["arguments"] = "{}"


nested_properties_dropped = when(
    "nested-properties-dropped",
    "The properties of nested objects are removed from the schemas of tools.",
    lambda sent: bool(sent.get("tools")),
    _drop_nested,
    applies_to=has_parameters("tools"),
)
items_dropped = when(
    "items-dropped",
    "The schema of the items of arrays is removed from the schemas of tools.",
    lambda sent: bool(sent.get("tools")),
    _drop_items,
    applies_to=has_parameters("tools"),
)
numbers_in_quotes = arguments_fault(
    "numbers-in-quotes", "Numbers in the arguments of plain answers are strings.", _each_value(_quoted)
)
booleans_in_python = arguments_fault(
    "booleans-in-python", "Arguments with a boolean are written as in Python.", _in_python
)
backslash_before_characters = arguments_fault(
    "backslash-before-characters", "A backslash precedes non-ASCII characters in arguments.", _backslashed
)
arguments_wrapped_again = arguments_fault(
    "arguments-wrapped-again", "The arguments are nested in a further object with a name.", _wrapped
)
enums_end_arguments = arguments_fault(
    "enums-end-arguments", "Arguments with a value of an enumeration lack their last brace.", _ended_by_enums
)
enums_of_numbers_empty = arguments_fault(
    "enums-of-numbers-empty", "The value of an enumeration of numbers is an empty string.", _without_whole_enums
)
no_braces_without_parameters = hooked_fault(
    "no-braces-without-parameters",
    "The streamed arguments of a tool without parameters are an empty string.",
    chunk=_no_braces,
    applies_to=has_parameters("tools"),
)
later_pieces_have_empty_names = hooked_fault(
    "later-pieces-have-empty-names",
    "All pieces of a streamed call except the first have an empty name.",
    chunk=_empty_names,
    applies_to=has_parameters("tools"),
)
rare_keywords_fail = when(
    "rare-keywords-fail",
    "A tool whose schema has propertyNames or a similar keyword gets a 500.",
    _has_rare_keyword,
    fail,
    applies_to=has_parameters("tools"),
)
foreign_descriptions_fail = when(
    "foreign-descriptions-fail",
    "A tool whose description has non-ASCII characters gets a 500.",
    _described_abroad,
    fail,
    applies_to=has_parameters("tools"),
)
past_arguments_forgotten = when(
    "past-arguments-forgotten",
    "The arguments of earlier tool calls are missing in the prompt.",
    lambda sent: any("tool_calls" in message for message in messages_of(sent)),
    _forget_arguments,
    applies_to=has_parameters("tools"),
)
