"""Conversion of `response_format` and `structured_outputs` to the grammar that the text of a response must match."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from llguidance.gbnf_to_lark import any_to_lark

from openapi.stream.strict_json import shorten
from reference_server.errors import ApiError
from reference_server.request.client_schema import (
    dump,
    read_nested_json,
    require_few_fields,
    require_short_source,
)
from reference_server.request.schema_rewriting import map_schemas, rewrite
from reference_server.request.structural_tags import write_tags_grammar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Json = dict[str, Any]

WHITESPACE: Final = r"[ \n\r\t]{0,64}"
"""White space between JSON tokens. The limit is enough for any writer, and keeps a model from writing only spaces."""
ON_ONE_LINE: Final = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""The spaces of a response_format: small models fill an answer with white space where any is allowed."""


def text_grammar(given: Mapping[str, Any]) -> str | None:
    """Return the grammar of the response's text, as Lark rules for `content`; None: any text. Raises ApiError."""
    response_format, outputs = given.get("response_format") or {}, given.get("structured_outputs") or {}
    kind = response_format.get("type", "text")
    if outputs and kind != "text":
        words = "response_format and structured_outputs are mutually exclusive: remove one"
        raise ApiError("invalid_request", words, param="structured_outputs")
    require_few_fields(response_format, "response_format")
    if outputs:
        return _structured_outputs_grammar(outputs)
    if not isinstance(kind, str) or kind not in FORMATS:  # valid by a contract that leaves the kinds open
        words = f"unsupported response_format.type: expected one of {', '.join(FORMATS)}"
        raise ApiError("invalid_request", words, param="response_format")
    return FORMATS[kind](response_format)


def format_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that constrain a response's text, as JSON strings; none if the text is unconstrained."""
    unconstrained = {"response_format": {"type": "text"}}
    values = {name: given.get(name) for name in ("response_format", "structured_outputs")}
    return {name: json.dumps(value) for name, value in values.items() if value and value != unconstrained.get(name)}


def _json_schema_grammar(response_format: Mapping[str, Any]) -> str:
    schema = response_format["json_schema"].get("schema")
    return f"content: {_json_rule({'type': 'object'} if schema is None else schema)}"


def _structural_tags_grammar(tags: Mapping[str, Any], whitespace: Json | None = None, *, closed: bool = False) -> str:
    return write_tags_grammar(tags, lambda schema: _json_rule(schema, whitespace, closed=closed))


FORMATS: Final[Mapping[str, Callable[[Mapping[str, Any]], str | None]]] = {
    "text": lambda _: None,
    "json_object": lambda _: f"content: {_json_rule({'type': 'object'})}",
    "json_schema": _json_schema_grammar,
    "structural_tag": _structural_tags_grammar,
}


def _structured_outputs_grammar(outputs: Mapping[str, Any]) -> str | None:
    """Return the grammar for vLLM's structured_outputs, of which one field gives the constraint."""
    whitespace = _whitespace_options(outputs)
    closed = bool(outputs.get("disable_additional_properties"))
    if "json" in outputs:
        return f"content: {_json_rule(_schema(outputs['json']), whitespace, closed=closed)}"
    if "json_object" in outputs:
        return f"content: {_json_rule({'type': 'object'}, whitespace)}" if outputs["json_object"] else None
    if "choice" in outputs:
        if not outputs["choice"]:
            words = "structured_outputs.choice is empty: expected at least one string"
            raise ApiError("invalid_request", words, param="structured_outputs")
        return f"content: {' | '.join(dump(text) for text in outputs['choice'])}"
    if "regex" in outputs:
        require_short_source(outputs["regex"], "structured_outputs.regex", "structured_outputs")
        return f"content: EXPRESSION\nEXPRESSION: /{_escape_slashes(outputs['regex'])}/"
    if "grammar" in outputs:
        return f"content: %lark {{\n{_lark(outputs['grammar'])}\n}}"
    tags = read_nested_json(outputs["structural_tag"])
    require_few_fields(tags, "structured_outputs")
    if not isinstance(tags, dict):
        words = "invalid structured_outputs.structural_tag: expected a JSON object"
        raise ApiError("invalid_request", words, param="structured_outputs")
    return _structural_tags_grammar(tags, whitespace, closed=closed)


def _lark(grammar: str) -> str:
    """Return a grammar in GBNF or Lark as Lark."""
    require_short_source(grammar, "structured_outputs.grammar", "structured_outputs")
    try:
        return any_to_lark(grammar)
    except RecursionError:
        reason = "it is nested too deeply"
    except Exception as error:  # the converter has no class for all of its errors
        reason = shorten(str(error).partition("\n")[0])
    raise ApiError("invalid_request", f"invalid structured_outputs.grammar: {reason}", param="structured_outputs")


def _schema(schema: str | Json) -> Json:
    if isinstance(schema, str):
        schema = read_nested_json(schema)
    require_few_fields(schema, "structured_outputs")
    if not isinstance(schema, dict):
        words = "invalid structured_outputs.json: expected a JSON Schema object"
        raise ApiError("invalid_request", words, param="structured_outputs")
    return schema


def _whitespace_options(outputs: Mapping[str, Any]) -> Json:
    if outputs.get("disable_any_whitespace"):
        return {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}
    pattern = outputs.get("whitespace_pattern")
    require_short_source(pattern or "", "structured_outputs.whitespace_pattern", "structured_outputs")
    return {"whitespace_flexible": True, "whitespace_pattern": WHITESPACE if pattern is None else pattern}


def _json_rule(schema: Json, whitespace: Json | None = None, *, closed: bool = False) -> str:
    """Return the rule for JSON of a schema. closed: objects with named properties have no others."""
    schema = _close_objects(schema) if closed else schema
    options = whitespace or ON_ONE_LINE
    return f"%json {dump({**rewrite(schema), 'x-guidance': options})}"


def _close_objects(schema: Json) -> Any:
    """Return a schema in which objects with named properties have no others."""
    return map_schemas(schema, lambda part: {"additionalProperties": False, **part} if "properties" in part else part)


def _escape_slashes(expression: str) -> str:
    """Escape a regular expression so that it can stand between slashes."""
    escaped = False
    written = []
    for character in expression:
        written.append("\\/" if character == "/" and not escaped else "\\n" if character == "\n" else character)
        escaped = character == "\\" and not escaped
    return "".join(written)
