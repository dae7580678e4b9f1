"""Checks of the arguments of strict functions against their schema, also of arguments that were cut off."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from conformance.check import Context, Finding, NotExercised, check
from conformance.judge.applicability import in_scenario, why_unanswered
from conformance.judge.checks.tools.calls import complete_calls, find_calls, offered_functions
from conformance.judge.checks.tools.choice import OFFERED, require_answer
from conformance.judge.evidence.context import require_short_enough
from conformance.plan.scenarios.combinations.schema_features import SCHEMAS
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

DECODER = json.JSONDecoder()
BLANKS = " \t\r\n"
DEEPEST = 8
"""Levels of a schema that are read; one may contain itself."""
LONGEST_ESCAPE = 12
"""Characters of the escape sequence of a character that has two code units."""
INCOMPLETE = re.compile("[\ud800-\udbff\ufffd]+$")
"""What is left of a character whose bytes or escape sequences are incomplete."""


@check("tools.arguments-fit-schema", on=OFFERED)
def arguments_fit_their_schema(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The arguments of every call of a strict function are valid against its parameters.

    Of an answer that was cut off, each argument that is complete is valid, and a string that is not complete is the
    beginning of a valid one. Without `strict` the model may deviate from the schema.
    """
    strict = {name: function for name, function in offered_functions(exchange).items() if function.get("strict")}
    calls = [(where, call) for where, call in find_calls(exchange) if call.name in strict]
    if not calls:
        raise NotExercised("no strict function is called")
    cut = any(choice.finish_reason == "length" for choice in exchange.choices.values())
    for where, call in calls:
        schema = strict[call.name].get("parameters")
        if isinstance(schema, dict):
            for problem in (_problems_of_beginning if cut else _problems)(call.arguments or "", schema):
                yield Finding(
                    f"{where}/function/arguments", "arguments that are valid against the schema", problem[:200]
                )


@check("tools.schemas-taken", on=in_scenario(f"{SCHEMAS}-called-*"))
def usual_schemas_are_taken(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A function whose parameters are a schema as clients generate it can be called: with references to itself, unions,
    constants, defaults, null, bounds and patterns.
    """
    require_short_enough(exchange)
    if reason := why_unanswered(exchange):
        yield Finding("/status", "200 and an answer", reason)


@check("tools.integers-have-no-fraction", on=OFFERED)
def integers_are_written_without_a_fraction(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An argument of a strict function whose schema allows only integers is written without a point or an exponent.

    Clients in typed languages do not read 5.0 as an integer, although a schema does not tell it from 5.
    """
    functions = {name: item for name, item in offered_functions(exchange).items() if item.get("strict")}
    judged = False
    for where, call in find_calls(exchange):
        schema = functions.get(call.name, {}).get("parameters")
        reading = read_json(call.arguments or "")
        known = schema.get("properties") if isinstance(schema, dict) else None
        if reading.error or not isinstance(reading.value, dict) or not isinstance(known, dict):
            continue
        whole = {name: value for name, value in reading.value.items() if _is_whole(known.get(name), schema)}
        judged = judged or bool(whole)
        for name, value in whole.items():
            if isinstance(value, float):
                yield Finding(f"{where}/function/arguments/{name}", "digits only", repr(value))
    if not judged:
        raise NotExercised("no call of a strict function has an argument that is an integer")


@check("tools.custom-input-fits-grammar", on=in_scenario("custom-tools", "*-grammar"))
def input_of_a_custom_tool_fits_its_grammar(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The input of a custom tool whose format is a regular expression matches it."""
    require_answer(exchange, context)
    formats = [tool["custom"].get("format") for tool in exchange.request_json["tools"] if "custom" in tool]
    pattern = next(given["grammar"]["definition"] for given in formats if given)
    calls = [(where, call) for where, call in complete_calls(exchange) if call.kind == "custom"]
    if not calls:
        raise NotExercised("no custom tool is called")
    for where, call in calls:
        if not re.fullmatch(pattern, call.arguments):
            yield Finding(f"{where}/custom/input", f"a string that matches {pattern}", repr(call.arguments)[:120])


def _is_whole(schema: Any, root: Any) -> bool:
    """Return whether the numbers that a schema allows are integers by each of its parts."""
    return set(_list_number_types(schema, root)) == {"integer"}


def _list_number_types(schema: Any, root: Any, depth: int = 0) -> Iterator[str]:
    """Yield "integer" or "number" for each part of a schema that allows such values."""
    if not isinstance(schema, dict) or depth > DEEPEST:
        return
    if isinstance(schema.get("$ref"), str):
        found = root
        for part in schema["$ref"].removeprefix("#").strip("/").split("/"):
            found = found.get(part) if isinstance(found, dict) and part else found
        yield from _list_number_types(found, root, depth + 1)
    for keyword in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(keyword, ()):
            yield from _list_number_types(part, root, depth + 1)
    types = schema.get("type", ())
    yield from (kind for kind in ([types] if isinstance(types, str) else types) if kind in ("integer", "number"))
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    yield from ("integer" if type(value) is int else "number" for value in values if type(value) in (int, float))


def _problems(arguments: str, schema: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with complete arguments. Invalid JSON is reported by another check."""
    reading = read_json(arguments)
    if not reading.error:
        yield from (problem.message for problem in jsonschema_rs.validator_for(schema).iter_errors(reading.value))


def _problems_of_beginning(arguments: str, schema: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with arguments that were cut off, also if the server closed them to make them valid JSON."""
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    definitions: dict[str, Any] = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    complete, name, rest = read_cut_object(arguments)
    for key, value in complete.items():
        if isinstance(known.get(key), dict):
            validator = jsonschema_rs.validator_for({**known[key], **definitions})
            yield from (f"{key}: {problem.message}" for problem in validator.iter_errors(value))
    if name is not None and isinstance(known.get(name), dict) and not _may_begin(rest, known[name]):
        yield f"{name}: {rest} is not the beginning of an allowed value"


def read_cut_object(text: str) -> tuple[dict[str, Any], str | None, str]:
    """Return the complete fields of an object whose text was cut off, the name of the next one, and its text.

    A field counts as complete if a comma follows it. The name is None if the text ends, or is invalid, before a value.
    """
    fields: dict[str, Any] = {}
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        return fields, None, ""
    at = _skip(text, at + 1)
    while True:
        try:
            name, at = DECODER.raw_decode(text, at)
        except ValueError:
            return fields, None, ""
        at = _skip(text, at)
        if not isinstance(name, str) or text[at : at + 1] != ":":
            return fields, None, ""
        begin = _skip(text, at + 1)
        try:
            value, end = DECODER.raw_decode(text, begin)
        except ValueError:
            return fields, name, text[begin:]
        at = _skip(text, end)
        if text[at : at + 1] != ",":
            return fields, name, text[begin:end]
        fields[name] = value
        at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    """Return the place of the next character that is not blank."""
    while at < len(text) and text[at] in BLANKS:
        at += 1
    return at


def _may_begin(text: str, schema: dict[str, Any]) -> bool:
    """Return whether the text of an incomplete string may be the beginning of an allowed value.

    True if the value is not a string, or if any string is allowed. A character that was cut off is left out.
    """
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if not isinstance(values, list) or not text.startswith('"'):
        return True
    begun = text.removesuffix('"') if len(text) > 1 else text
    for length in range(len(begun), max(0, len(begun) - LONGEST_ESCAPE), -1):
        reading = read_json(begun[:length] + '"')
        if not reading.error and isinstance(reading.value, str):
            start = INCOMPLETE.sub("", reading.value)
            return any(isinstance(value, str) and value.startswith(start) for value in values)
    return True
