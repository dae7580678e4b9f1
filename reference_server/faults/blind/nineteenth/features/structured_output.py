"""Blind faults of structured output: properties next to branches, descriptions, and values of open objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import refusing, when
from reference_server.faults.blind.schema_recipes import form_schema_of, parts_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

BRANCHES: Final = ("anyOf", "oneOf")
DESCRIBED: Final = {
    "type": "json_schema",
    "json_schema": {"name": "city", "description": "A city.", "schema": {"type": "object"}},
}


def _forget_properties(request: ServedRequest) -> None:
    """Read the branches only. Violates json_schema: the properties next to them hold too."""
    for part in parts_of(form_schema_of(request.payload)):
        if any(isinstance(part.get(name), list) for name in BRANCHES) and isinstance(part.get("properties"), dict):
            part.pop("properties")
            part.pop("required", None)


def _open_values(request: ServedRequest) -> None:
    """Ask whether other properties are allowed. Violates json_schema: their values match its schema."""
    for part in parts_of(form_schema_of(request.payload)):
        if isinstance(part.get("additionalProperties"), dict):
            part["additionalProperties"] = True


def _is_described(sent: Json) -> bool:
    form: Any = sent.get("response_format")
    named = form.get("json_schema") if isinstance(form, dict) else None
    return isinstance(named, dict) and isinstance(named.get("description"), str)


properties_next_to_branches_ignored = hooked_fault(
    "properties-next-to-branches-ignored",
    "In the schema of response_format, the properties of an object next to an anyOf or oneOf are ignored.",
    request=_forget_properties,
    applies_to=has_parameters("response_format"),
)
values_of_open_objects_take_anything = hooked_fault(
    "values-of-open-objects-take-anything",
    "In the schema of response_format, an additionalProperties with a schema allows all values.",
    request=_open_values,
    applies_to=has_parameters("response_format"),
)
# Violates json_schema.description: what the format is for.
described_forms_refused = when(
    "described-forms-refused",
    "A response_format whose json_schema has a description is refused.",
    _is_described,
    refusing("response_format.json_schema.description: extra inputs are not permitted"),
    applies_to=allows(response_format=DESCRIBED),
)
