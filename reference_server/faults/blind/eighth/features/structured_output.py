"""Blind faults of structured output: parts of schemas that are ignored, and text that surrounds the JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reference_server.faults.blind.schema_recipes import drop_keywords, form_schema_of, form_type_of, parts_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _forget_foreign_names(request: ServedRequest) -> None:
    """Know ASCII names only. Violates json_schema: required properties are in the answer."""
    for part in parts_of(form_schema_of(request.payload)):
        for keyword in ("properties", "required"):
            names = part.get(keyword)
            if isinstance(names, dict):
                part[keyword] = {name: schema for name, schema in names.items() if name.isascii()}
            elif isinstance(names, list):
                part[keyword] = [name for name in names if isinstance(name, str) and name.isascii()]


def _ignore_constants(request: ServedRequest) -> None:
    """Know no const. Violates json_schema: the answer matches the schema."""
    drop_keywords(form_schema_of(request.payload), "const")


def _cut_and_stop(answer: Json, request: ServedRequest) -> None:
    """Report the end of the grammar. Violates finish_reason: length at the limit."""
    if form_type_of(request.payload) in ("json_schema", "json_object"):
        for choice in choices_of(answer):
            choice["finish_reason"] = "stop" if choice.get("finish_reason") == "length" else choice["finish_reason"]


def _introduce(answer: Json, request: ServedRequest) -> None:
    """Introduce the JSON. Violates json_object: the answer is JSON."""
    if form_type_of(request.payload) == "json_object":
        for choice in choices_of(answer):
            said = message_of(choice)
            if said.get("content"):
                said["content"] = f"Here is the JSON:\n{said['content']}"


def _quote_choice(answer: Json, request: ServedRequest) -> None:
    """Write a choice as JSON. Violates structured_outputs.choice: the answer is one of the strings."""
    outputs = request.payload.get("structured_outputs")
    if isinstance(outputs, dict) and outputs.get("choice"):
        for choice in choices_of(answer):
            said = message_of(choice)
            said["content"] = json.dumps(said.get("content"), ensure_ascii=False)


foreign_names_forgotten_in_forms = hooked_fault(
    "foreign-names-forgotten-in-forms",
    "Properties whose names have non-ASCII characters are removed from the schema of response_format.",
    request=_forget_foreign_names,
    applies_to=has_parameters("response_format"),
)
constants_ignored_in_forms = hooked_fault(
    "constants-ignored-in-forms",
    "`const` in the schema of response_format is ignored.",
    request=_ignore_constants,
    applies_to=has_parameters("response_format"),
)
cut_forms_end_with_stop = hooked_fault(
    "cut-forms-end-with-stop",
    "JSON of a plain answer that the token limit cuts has the finish reason stop.",
    answer=_cut_and_stop,
    applies_to=has_parameters("response_format"),
)
json_objects_introduced = hooked_fault(
    "json-objects-introduced",
    "With json_object, a sentence precedes the JSON of a plain answer.",
    answer=_introduce,
    applies_to=has_parameters("response_format"),
)
chosen_strings_in_quotes = hooked_fault(
    "chosen-strings-in-quotes",
    "With structured_outputs.choice, a plain answer is a string with quotes.",
    answer=_quote_choice,
    applies_to=has_parameters("structured_outputs"),
)
