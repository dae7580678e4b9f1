"""Blind faults of structured output: formats and schemas that are refused or fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import fail, messages_of, refusing, when
from reference_server.faults.blind.schema_recipes import form_schema_of, form_type_of, parts_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest


def _never_says_json(sent: Json) -> bool:
    said = " ".join(str(message.get("content")) for message in messages_of(sent))
    return form_type_of(sent) == "json_object" and "json" not in said.lower()


def _is_recursive(sent: Json) -> bool:
    schema = form_schema_of(sent)
    definitions = schema.get("$defs") if schema else None
    named = definitions.items() if isinstance(definitions, dict) else ()
    return _refers(schema, "#") or any(_refers(definition, f"#/$defs/{name}") for name, definition in named)


def _refers(schema: Any, target: str) -> bool:
    return any(part.get("$ref") == target for part in parts_of(schema))


def _fail(request: ServedRequest) -> CannedResponse:
    """Write references out for ever. Violates $ref: a schema may refer to itself."""
    return fail(request)


def _has_another_root(sent: Json) -> bool:
    schema = form_schema_of(sent)
    return isinstance(schema, dict) and schema.get("type") not in (None, "object") and isinstance(schema["type"], str)


def _has_defaults(sent: Json) -> bool:
    return any("default" in part for part in parts_of(form_schema_of(sent)))


def _has_text_form(sent: Json) -> bool:
    return bool(form_type_of(sent) == "text")


def _has_schema_as_text(sent: Json) -> bool:
    outputs = sent.get("structured_outputs")
    return isinstance(outputs, dict) and isinstance(outputs.get("json"), str)


# Violates json_object, which depends on no word.
json_objects_need_the_word = when(
    "json-objects-need-the-word",
    "A response_format of json_object is refused if no message contains the word JSON.",
    _never_says_json,
    refusing("messages must contain the word json in some form"),
    applies_to=has_parameters("response_format", "structured_outputs"),
)
recursive_forms_fail = when(
    "recursive-forms-fail",
    "A response_format whose schema refers to itself gets a 500.",
    _is_recursive,
    _fail,
    applies_to=has_parameters("response_format"),
)
# Violates json_schema: a schema of any JSON.
other_roots_of_forms_refused = when(
    "other-roots-of-forms-refused",
    "A response_format whose schema has another type than object, such as array, is refused.",
    _has_another_root,
    refusing("the schema must be of type object"),
    applies_to=has_parameters("response_format", "structured_outputs"),
)
# Violates default, which says nothing about what is valid.
defaults_in_forms_refused = when(
    "defaults-in-forms-refused",
    "A response_format whose schema has a default is refused.",
    _has_defaults,
    refusing("default is not permitted"),
    applies_to=has_parameters("response_format", "structured_outputs"),
)
# Violates type: text is one of the types.
forms_of_text_refused = when(
    "forms-of-text-refused",
    "A response_format of text is refused.",
    _has_text_form,
    refusing("response_format.type must be json_schema"),
    applies_to=allows(response_format={"type": "text"}),
)
# Violates json, which is an object or its text.
schemas_as_text_refused = when(
    "schemas-as-text-refused",
    "A schema in structured_outputs is refused if it is text that contains JSON.",
    _has_schema_as_text,
    refusing("structured_outputs.json must be an object"),
    applies_to=allows(structured_outputs={"json": "{}"}),
)
