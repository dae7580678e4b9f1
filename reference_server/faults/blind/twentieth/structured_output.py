"""Blind faults of structured output: deep objects, values with quotes, and schemas after long prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import dropping, text_length, when
from reference_server.faults.blind.schema_recipes import form_schema_of, form_type_of, parts_of
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

DEEPEST: Final = 3
LONG: Final = 2_000  # characters
QUOTE: Final = '"'


def _free_below(schema: Any, depth: int) -> None:
    """Allow any object inside this number of others."""
    if isinstance(schema, list):
        for item in schema:
            _free_below(item, depth)
    elif isinstance(schema, dict):
        if "properties" in schema and not depth:
            schema.clear()
            schema["type"] = "object"
        for value in list(schema.values()):
            _free_below(value, depth - ("properties" in schema))


def _free_deep_objects(request: ServedRequest) -> None:
    """Limit the size of a grammar. Violates json_schema: the answer matches the schema, however deep it is."""
    _free_below(form_schema_of(request.payload), DEEPEST)


def _strip_quotes(value: Any) -> Any:
    return value.replace(QUOTE, "") if isinstance(value, str) else value


def _lose_quotes(request: ServedRequest) -> None:
    """Write a value into a grammar without escapes. Violates enum and const: the value itself."""
    for part in parts_of(form_schema_of(request.payload)):
        if isinstance(part.get("enum"), list):
            part["enum"] = [_strip_quotes(value) for value in part["enum"]]
        if isinstance(part.get("const"), str):
            part["const"] = _strip_quotes(part["const"])


def _is_long_with_form(sent: Json) -> bool:
    return text_length(sent) > LONG and form_type_of(sent) in ("json_object", "json_schema")


deep_parts_of_forms_unconstrained = hooked_fault(
    "deep-parts-of-forms-unconstrained",
    "In the schema of response_format, an object inside three others may have any properties.",
    request=_free_deep_objects,
    applies_to=has_parameters("response_format"),
)
quotes_in_values_of_forms_lost = hooked_fault(
    "quotes-in-values-of-forms-lost",
    "Values that the schema of response_format allows lose their double quotes.",
    request=_lose_quotes,
    applies_to=has_parameters("response_format"),
)
# Violates response_format, which applies after a prompt of any length.
long_prompts_lose_forms = when(
    "long-prompts-lose-forms",
    "A response_format has no effect after messages of more than 2,000 characters.",
    _is_long_with_form,
    dropping("response_format"),
    applies_to=has_parameters("response_format"),
)
