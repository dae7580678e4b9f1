"""From response_format and structured_outputs, as a body has them, to the grammar of an answer's text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from llguidance.gbnf_to_lark import GbnfToLarkError, any_to_lark

from openapi.stream.strict_json import quote
from reference_server.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Json = dict[str, Any]

SPACES: Final = r"[ \n\r\t]{0,64}"
"""Between the parts of a JSON text: as many as any writer needs, and no more, or a model could go on with them."""

LEVELS_OF_PROPERTIES: Final = ("properties", "$defs", "definitions", "patternProperties")


def text_grammar(given: Mapping[str, Any]) -> str | None:
    """The rules of `spoken`, what the answer's text must fit, in Lark; None: any text. Raises ApiError."""
    form, outputs = given.get("response_format") or {}, given.get("structured_outputs") or {}
    if outputs and form.get("type", "text") != "text":
        words = "response_format and structured_outputs both form the answer: leave one out"
        raise ApiError("invalid_request", words, param="structured_outputs")
    if outputs:
        return _of_outputs(outputs)
    return FORMATS[form.get("type", "text")](form)


def asked_form(given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that form an answer's text, as JSON texts; none that lets it be any text."""
    free = {"response_format": {"type": "text"}}
    asked = {name: given.get(name) for name in ("response_format", "structured_outputs")}
    return {name: json.dumps(form) for name, form in asked.items() if form and form != free.get(name)}


def _of_format(form: Mapping[str, Any]) -> str:
    named = form["json_schema"]
    return f"spoken: {_json(named.get('schema') or {'type': 'object'})}"


def _of_tags(form: Mapping[str, Any], spaces: Json | None = None, *, closed: bool = False) -> str:
    """Any text in which whatever begins with a trigger is one of the structures, whole; the older form of tags."""
    structures, triggers = form.get("structures"), form.get("triggers")
    if not isinstance(structures, list) or not isinstance(triggers, list) or not structures or not triggers:
        raise ApiError(
            "invalid_request", "structural tags need structures and triggers here, the older form: send those, or tools"
        )
    rules = []
    for at, each in enumerate(structures):
        begin, end, schema = (each.get(key) if isinstance(each, dict) else None for key in ("begin", "end", "schema"))
        if not (isinstance(begin, str) and isinstance(end, str) and isinstance(schema, dict)):
            raise ApiError("invalid_request", "a structural tag has a begin, a schema and an end: send all three")
        trigger = next((each for each in triggers if isinstance(each, str) and each and begin.startswith(each)), None)
        if trigger is None:
            raise ApiError("invalid_request", f"no trigger begins the structural tag {quote(begin)}: name one")
        whole = [begin[len(trigger) :], end]
        head, tail = (_literal(text) if text else "" for text in whole)
        rules += [
            f"tag_{at}: trigger_{triggers.index(trigger)} {head} {_json(schema, spaces, closed=closed)} {tail}",
        ]
    opened = {rule.split()[1] for rule in rules}
    rules += [
        f"{name}[lazy]: ANY_TEXT {_literal(trigger)}"
        for name, trigger in ((f"trigger_{at}", trigger) for at, trigger in enumerate(triggers))
        if name in opened
    ]
    tags = " | ".join(f"tag_{at}" for at in range(len(structures)))
    return "\n".join([f"spoken: ({tags})* ANY_TEXT", "ANY_TEXT: /(.|\\n)*/", *rules])


FORMATS: Final[Mapping[str, Callable[[Mapping[str, Any]], str | None]]] = {
    "text": lambda _: None,
    "json_object": lambda _: f"spoken: {_json({'type': 'object'})}",
    "json_schema": _of_format,
    "structural_tag": _of_tags,
}


def _of_outputs(outputs: Mapping[str, Any]) -> str | None:
    """vLLM's structured_outputs, of which one member says what the form is."""
    spaces = _spaces(outputs)
    closed = bool(outputs.get("disable_additional_properties"))
    if "json" in outputs:
        return f"spoken: {_json(_schema(outputs['json']), spaces, closed=closed)}"
    if "json_object" in outputs:
        return f"spoken: {_json({'type': 'object'}, spaces)}" if outputs["json_object"] else None
    if "choice" in outputs:
        if not outputs["choice"]:
            words = "structured_outputs.choice is empty: name one text or more"
            raise ApiError("invalid_request", words, param="structured_outputs")
        return f"spoken: {' | '.join(_literal(text) for text in outputs['choice'])}"
    if "regex" in outputs:
        return f"spoken: EXPRESSION\nEXPRESSION: /{_slashed(outputs['regex'])}/"
    if "grammar" in outputs:
        try:
            grammar = any_to_lark(outputs["grammar"])
        except GbnfToLarkError as error:
            words = f"structured_outputs.grammar cannot be read: {error}"
            raise ApiError("invalid_request", words, param="structured_outputs") from error
        return f"spoken: %lark {{\n{grammar}\n}}"
    try:
        tags = json.loads(outputs["structural_tag"])
    except ValueError:
        tags = None
    if not isinstance(tags, dict):
        words = "structured_outputs.structural_tag is no JSON object: send one"
        raise ApiError("invalid_request", words, param="structured_outputs")
    return _of_tags(tags, _spaces(outputs), closed=closed)


def _schema(schema: str | Json) -> Json:
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except ValueError:
            schema = ""
    if not isinstance(schema, dict):
        words = "structured_outputs.json is no JSON Schema: send an object"
        raise ApiError("invalid_request", words, param="structured_outputs")
    return schema


def _spaces(outputs: Mapping[str, Any]) -> Json:
    if outputs.get("disable_any_whitespace"):
        return {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}
    asked = outputs.get("whitespace_pattern")
    return {"whitespace_flexible": True, "whitespace_pattern": SPACES if asked is None else asked}


def _json(schema: Json, spaces: Json | None = None, *, closed: bool = False) -> str:
    """JSON that fits a schema. closed: objects hold nothing that they do not name."""
    schema = _closed(schema) if closed else schema
    options = spaces or {"whitespace_flexible": True, "whitespace_pattern": SPACES}
    return f"%json {json.dumps({**schema, 'x-guidance': options}, ensure_ascii=False)}"


def _closed(value: Any) -> Any:
    """A schema in which objects that name their properties have no others."""
    if isinstance(value, list):
        return [_closed(item) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {
        key: {name: _closed(each) for name, each in item.items()}
        if key in LEVELS_OF_PROPERTIES and isinstance(item, dict)
        else item
        if key in ("enum", "const", "default", "examples")
        else _closed(item)
        for key, item in value.items()
    }
    return {"additionalProperties": False, **inner} if "properties" in value else inner


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _slashed(expression: str) -> str:
    """A regular expression between slashes."""
    escaped = False
    written = []
    for character in expression:
        written.append("\\/" if character == "/" and not escaped else "\\n" if character == "\n" else character)
        escaped = character == "\\" and not escaped
    return "".join(written)
