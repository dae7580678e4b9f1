"""Blind faults of structured output: negative bounds, later turns, and names with spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import dropping, messages_of, when
from reference_server.faults.blind.schema_recipes import form_schema_of, form_type_of, parts_of
from reference_server.faults.decorators import has_parameters, hooked_fault
from reference_server.faults.request_edits import failed

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def _is_negative(bound: Any) -> bool:
    return isinstance(bound, (int, float)) and bound < 0


def _forget_negative_bounds(request: ServedRequest) -> None:
    """Write rules for digits. Violates json_schema: the answer matches the schema."""
    for part in parts_of(form_schema_of(request.payload)):
        for name in [name for name in BOUNDS if _is_negative(part.get(name))]:
            del part[name]


def _has_form_later(sent: Json) -> bool:
    answered = any(message.get("role") == "assistant" for message in messages_of(sent))
    return answered and form_type_of(sent) in ("json_object", "json_schema")


def _has_spaces(sent: Json) -> bool:
    properties = [part.get("properties") for part in parts_of(form_schema_of(sent))]
    return any(" " in name for names in properties if isinstance(names, dict) for name in names)


negative_bounds_ignored_in_forms = hooked_fault(
    "negative-bounds-ignored-in-forms",
    "Bounds of numbers below 0 in the schema of response_format are ignored.",
    request=_forget_negative_bounds,
    applies_to=has_parameters("response_format"),
)
# Violates response_format, which applies to each answer.
forms_lost_in_later_turns = when(
    "forms-lost-in-later-turns",
    "A response_format has no effect if the conversation contains an earlier answer.",
    _has_form_later,
    dropping("response_format"),
    applies_to=has_parameters("response_format"),
)
# Violates json_schema: a property may have any name.
spaces_in_names_of_forms_fail = when(
    "spaces-in-names-of-forms-fail",
    "A response_format with a property whose name contains a space gets a 500.",
    _has_spaces,
    failed,
    applies_to=has_parameters("response_format"),
)
