"""The schema that a request demands of the content or of the arguments of a call, and whether the answer fits it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema_rs

from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


def schema_of_text(sent: Mapping[str, Any]) -> Any:
    """Return the schema that the content must fit, of response_format or structured_outputs; None without one.

    A schema in structured_outputs may be JSON text.
    """
    if (named := _named_schema(sent)) is not None:
        return named.get("schema")
    outputs = sent.get("structured_outputs")
    schema = outputs.get("json") if isinstance(outputs, dict) else None
    return read_json(schema).value if isinstance(schema, str) else schema


def is_without_strict(sent: Mapping[str, Any]) -> bool:
    """Return whether a request demands a schema in its response_format without `strict: true`."""
    named = _named_schema(sent)
    return named is not None and named.get("strict") is not True


def _named_schema(sent: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the schema in a response_format, with its name; None without one."""
    form = sent.get("response_format")
    named = form.get("json_schema") if isinstance(form, dict) else None
    return named if isinstance(named, dict) else None


def schema_of_call(sent: Mapping[str, Any]) -> Any:
    """Return the parameters of the function that must be called; None if the request names none."""
    choice = sent.get("tool_choice")
    called = choice.get("function") if isinstance(choice, dict) else None
    functions = (tool.get("function") for tool in sent.get("tools") or () if isinstance(tool, dict))
    return next((item.get("parameters") for item in functions if item and item.get("name") == _name(called)), None)


def fits_its_schema(exchange: Exchange) -> bool:
    """Return whether an answer fits the schema that its request demands.

    True if it demands none, and if the answer was cut off: another one would be cut off as well.
    """
    sent: Any = exchange.request_json
    if not isinstance(sent, dict) or any(item.finish_reason == "length" for item in exchange.choices.values()):
        return True
    in_text, in_call = schema_of_text(sent), schema_of_call(sent)
    schema, texts = (in_text, _texts(exchange)) if in_text is not None else (in_call, _arguments(exchange))
    if schema is None:
        return True
    readings = [read_json(text) for text in texts]
    validator = jsonschema_rs.validator_for(schema)
    return bool(readings) and all(not item.error and validator.is_valid(item.value) for item in readings)


def _name(function: Any) -> Any:
    return function.get("name", "") if isinstance(function, dict) else ""


def _texts(exchange: Exchange) -> Iterator[str]:
    yield from (choice.content for choice in exchange.choices.values())


def _arguments(exchange: Exchange) -> Iterator[str]:
    yield from (call.arguments or "" for choice in exchange.choices.values() for call in choice.tool_calls)
