"""Blind faults of structured output: numbers that become strings, later choices, and scores of forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.schema_recipes import form_schema_of, form_type_of, parts_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choice_fault, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

FORMS: Final = ("json_object", "json_schema")
NUMBERS: Final = ("integer", "number")


def _as_string(value: Any) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return str(value) if is_number else value


def _write_numbers_as_strings(request: ServedRequest) -> None:
    """Translate a schema for an engine that knows lists of strings only. Violates enum: the values themselves."""
    for part in parts_of(form_schema_of(request.payload)):
        if not isinstance(part.get("enum"), list):
            continue
        part["enum"] = [_as_string(value) for value in part["enum"]]
        if part.get("type") in NUMBERS:
            part["type"] = "string"


def _fence_later_choices(choice: Json, request: ServedRequest) -> None:
    """Remove the fence of the first choice only. Violates response_format: each choice is JSON."""
    said = message_of(choice)
    if form_type_of(request.payload) in FORMS and choice.get("index") and isinstance(said.get("content"), str):
        said["content"] = f"```json\n{said['content']}\n```"


def _drop_scores(choice: Json, request: ServedRequest) -> None:
    """Sample under a grammar with another sampler. Violates logprobs, which applies to any answer."""
    if form_type_of(request.payload) in FORMS and choice.get("logprobs"):
        choice["logprobs"] = None


numbers_in_lists_of_values_become_strings = hooked_fault(
    "numbers-in-lists-of-values-become-strings",
    "Numbers in an enum of the schema of response_format are answered as strings.",
    request=_write_numbers_as_strings,
    applies_to=has_parameters("response_format"),
)
later_choices_of_forms_fenced = choice_fault(
    "later-choices-of-forms-fenced",
    _fence_later_choices,
    "In plain answers with a response_format and several choices, all but the first are within a fence of Markdown.",
    streamed=False,
    applies_to=allows(response_format={"type": "json_object"}, n=2),
)
forms_lose_scores = choice_fault(
    "forms-lose-scores",
    _drop_scores,
    "With a response_format for JSON, log-probabilities are null.",
    applies_to=has_parameters("response_format", "logprobs"),
)
