"""Blind faults of structured output: formats, definitions that refer to others, maps, and quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.schema_recipes import drop_keywords, form_schema_of, form_type_of, parts_of
from reference_server.faults.decorators import choice_fault, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _drop_formats(request: ServedRequest) -> None:
    """Take formats for remarks. Violates json_schema: the answer matches the schema."""
    drop_keywords(form_schema_of(request.payload), "format")


def _resolve_once(request: ServedRequest) -> None:
    """Replace references at one level. Violates json_schema: the answer matches the schema."""
    schema = form_schema_of(request.payload) or {}
    for definition in (schema.get("$defs") or {}).values() if isinstance(schema.get("$defs"), dict) else ():
        for part in parts_of(definition):
            if "$ref" in part:
                part.clear()


def _open_maps(request: ServedRequest) -> None:
    """Ask whether other names are allowed. Violates json_schema: the answer matches the schema."""
    for part in parts_of(form_schema_of(request.payload)):
        if isinstance(part.get("additionalProperties"), dict):
            part["additionalProperties"] = True


def _unescape_quotes(choice: Json, request: ServedRequest) -> None:
    """Write strings by hand. Violates json_schema: the answer is JSON."""
    said = message_of(choice)
    text = said.get("content")
    if isinstance(text, str) and form_type_of(request.payload) in ("json_object", "json_schema"):
        said["content"] = text.replace('\\"', '"')


formats_ignored_in_forms = hooked_fault(
    "formats-ignored-in-forms",
    "The format of a string in the schema of response_format, such as date or uuid, is ignored.",
    request=_drop_formats,
    applies_to=has_parameters("response_format"),
)
references_between_definitions_take_anything = hooked_fault(
    "references-between-definitions-take-anything",
    "In the schema of response_format, a reference inside a definition accepts any JSON.",
    request=_resolve_once,
    applies_to=has_parameters("response_format"),
)
values_of_maps_take_anything = hooked_fault(
    "values-of-maps-take-anything",
    "In the schema of response_format, a schema in additionalProperties is read as true.",
    request=_open_maps,
    applies_to=has_parameters("response_format"),
)
quotes_unescaped_in_forms = choice_fault(
    "quotes-unescaped-in-forms",
    _unescape_quotes,
    "Quotes inside the strings of a plain answer in JSON are not escaped.",
    streamed=False,
    applies_to=has_parameters("response_format"),
)
