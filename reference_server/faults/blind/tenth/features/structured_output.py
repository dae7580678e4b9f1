"""Blind faults of structured output: parts of schemas that are ignored, refused or read otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import refusing, when
from reference_server.faults.blind.schema_recipes import drop_keywords, form_schema_of, parts_of
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _forget_lengths(request: ServedRequest) -> None:
    """Know types of strings only. Violates json_schema: the answer matches the schema."""
    drop_keywords(form_schema_of(request.payload), "minLength", "maxLength")


def _forget_all_of(request: ServedRequest) -> None:
    """Skip a keyword. Violates json_schema: the answer matches the schema."""
    drop_keywords(form_schema_of(request.payload), "allOf")


def _refers_to_definitions(sent: Json) -> bool:
    references = [part.get("$ref") for part in parts_of(form_schema_of(sent))]
    return any(isinstance(reference, str) and reference.startswith("#/definitions/") for reference in references)


def _quote_nulls(request: ServedRequest) -> None:
    """Write each value as text. Violates json_schema: the answer has one of the values."""
    for part in parts_of(form_schema_of(request.payload)):
        if isinstance(part.get("enum"), list):
            part["enum"] = ["null" if value is None else value for value in part["enum"]]


lengths_ignored_in_forms = hooked_fault(
    "lengths-ignored-in-forms",
    "minLength and maxLength in the schema of response_format are ignored.",
    request=_forget_lengths,
    applies_to=has_parameters("response_format"),
)
all_of_ignored_in_forms = hooked_fault(
    "all-of-ignored-in-forms",
    "allOf in the schema of response_format is ignored.",
    request=_forget_all_of,
    applies_to=has_parameters("response_format"),
)
# Violates $ref: a reference into any part of the schema.
older_references_refused = when(
    "older-references-refused",
    "A response_format with references to `#/definitions` is refused.",
    _refers_to_definitions,
    refusing("references must begin with #/$defs/"),
    applies_to=has_parameters("response_format"),
)
nulls_in_forms_in_quotes = hooked_fault(
    "nulls-in-forms-in-quotes",
    "null in an enumeration of response_format becomes a string in answers.",
    request=_quote_nulls,
    applies_to=has_parameters("response_format"),
)
