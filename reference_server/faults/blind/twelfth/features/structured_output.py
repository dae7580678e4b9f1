"""Blind faults of structured output: keywords and values of schemas that are lost, and lists in place of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import when
from reference_server.faults.blind.schema_recipes import drop_keywords, form_schema_of, form_type_of, parts_of
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

NULL: Final = "null"
LIST: Final = {"type": "array", "items": {"type": ["string", "number"]}}


def _forget_multiples(request: ServedRequest) -> None:
    """Accept a keyword without a rule for it. Violates json_schema: the answer matches the schema."""
    drop_keywords(form_schema_of(request.payload), "multipleOf")


def _forget_tuples(request: ServedRequest) -> None:
    """Know lists of one kind only. Violates json_schema: the answer matches the schema."""
    drop_keywords(form_schema_of(request.payload), "prefixItems")


def _forget_nulls(request: ServedRequest) -> None:
    """Translate types one by one. Violates json_schema: null is a value that the answer may have."""
    for part in parts_of(form_schema_of(request.payload)):
        kinds, branches = part.get("type"), part.get("anyOf")
        if isinstance(kinds, list) and len(kinds) > 1:
            part["type"] = [kind for kind in kinds if kind != NULL] or kinds
        if isinstance(branches, list) and len(branches) > 1:
            part["anyOf"] = [branch for branch in branches if branch != {"type": NULL}] or branches


def _keep_shortest(request: ServedRequest) -> None:
    """End at the first match. Violates choice: any of the strings."""
    outputs = request.payload.get("structured_outputs")
    choices: Any = outputs.get("choice") if isinstance(outputs, dict) else None
    if isinstance(outputs, dict) and isinstance(choices, list) and all(isinstance(item, str) for item in choices):
        outputs["choice"] = [
            item for item in choices if not any(item != other and item.startswith(other) for other in choices)
        ]


def _streams_object(sent: Json) -> bool:
    return form_type_of(sent) == "json_object" and sent.get("stream") is True


def _ask_for_list(request: ServedRequest) -> None:
    """Allow any JSON. Violates json_object: the JSON is an object."""
    request.payload["response_format"] = {
        "type": "json_schema",
        "json_schema": {"name": "list", "schema": LIST, "strict": True},
    }


multiples_ignored_in_forms = hooked_fault(
    "multiples-ignored-in-forms",
    "multipleOf in the schema of response_format is ignored.",
    request=_forget_multiples,
    applies_to=has_parameters("response_format"),
)
tuples_ignored_in_forms = hooked_fault(
    "tuples-ignored-in-forms",
    "prefixItems in the schema of response_format is ignored.",
    request=_forget_tuples,
    applies_to=has_parameters("response_format"),
)
nulls_of_optional_values_lost = hooked_fault(
    "nulls-of-optional-values-lost",
    "A value that may be null in the schema of response_format is never null.",
    request=_forget_nulls,
    applies_to=has_parameters("response_format"),
)
choices_that_continue_another_lost = hooked_fault(
    "choices-that-continue-another-lost",
    "A string in structured_outputs.choice that begins with another one is never the answer.",
    request=_keep_shortest,
    applies_to=has_parameters("structured_outputs"),
)
streamed_json_objects_are_lists = when(
    "streamed-json-objects-are-lists",
    "With json_object, the JSON of a stream is an array.",
    _streams_object,
    _ask_for_list,
    applies_to=has_parameters("response_format"),
)
